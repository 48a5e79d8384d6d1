//! The step for the deployment: the image, by readers of images, and the manifests' command lines.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Session;
use super::counts::Counts;
use super::outcome::{Failure, Outcome};
use crate::env::{self, GoModule};
use crate::{cargo, demo, image, process};

mod judges;
mod start;

const BUILD: Duration = Duration::from_secs(10 * 60);

pub(super) fn run(session: &Session) -> Result<Outcome> {
    let host = session.wine()?[0];
    let exe = session.built(host)?.binary(demo::WINCSI)?;
    let started = Instant::now();
    let programs = Programs::build(session)?;
    let mut outcome = Outcome {
        building: started.elapsed(),
        ..Outcome::default()
    };
    let folder = tempfile::tempdir()?;
    let layout = folder.path().join("image");
    image::write(exe, &layout)?;
    for (name, judge) in judges::ALL {
        let judged = judge(&judges::Image {
            layout: &layout,
            programs: &programs,
            host,
        });
        outcome.add(judged_as(name, judged));
    }
    outcome.add(start::daemon_sets(host, exe, &programs)?);
    Ok(outcome)
}

/// One test, by its name.
fn judged_as(name: &str, judged: Result<()>) -> Outcome {
    match judged {
        Ok(()) => {
            println!("   1 passed           {name}");
            Outcome {
                counts: Counts::passed(1),
                ..Outcome::default()
            }
        }
        Err(error) => {
            println!("RED     {name}");
            Outcome::failed(Failure::of_error(name, &error))
        }
    }
}

/// Our programs in Go.
struct Programs {
    /// Reads a layer as hcsshim does; for Windows.
    layers: PathBuf,
    /// containerd's matcher.
    hosts: PathBuf,
    /// Has `TestVariablesArriveUnchanged`.
    calls: PathBuf,
}

impl Programs {
    fn build(session: &Session) -> Result<Self> {
        let go = session.provision.go()?;
        let folder = cargo::work_dir("go-tests")?;
        let build = |module: GoModule, arguments: &[&str], to: &str, source: &str, goos: &str| {
            let program = folder.join(to);
            let mut command = go.command(module, arguments);
            command
                .arg("-o")
                .arg(&program)
                .arg(source)
                .env("GOOS", goos);
            process::capture(&mut command, BUILD)?.success("go build")?;
            anyhow::Ok(program)
        };
        let deploy = env::GO_DEPLOY;
        Ok(Self {
            layers: build(deploy, &["build"], "layers.exe", "./layers", "windows")?,
            hosts: build(deploy, &["build"], "hosts", "./hosts", "linux")?,
            calls: build(
                env::GO_SANITY,
                &["test", "-c"],
                "sanity-calls",
                ".",
                "linux",
            )?,
        })
    }
}

/// A command of this machine.
fn tool(program: &str, arguments: &[&str], file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg(file);
    command
}
