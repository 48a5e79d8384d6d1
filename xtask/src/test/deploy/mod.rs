//! The step for the deployment: the image, by readers of images, and the manifests' command lines.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::outcome::Outcome;
use super::{Session, go};
use crate::host::Host;
use crate::{env, image, server, trial};

mod judges;
mod start;

pub(super) fn run(session: &Session) -> Result<Outcome> {
    let host = session.wine()?[0];
    let built = session.built(host)?;
    let (exe, csi_proxy) = (built.binary(trial::PLUGIN)?, built.binary(server::BINARY)?);
    let started = Instant::now();
    let programs = Programs::build(host)?;
    let mut outcome = Outcome {
        building: started.elapsed(),
        ..Outcome::default()
    };
    let folder = tempfile::tempdir()?;
    let layout = folder.path().join("image");
    image::write(exe, csi_proxy, &layout)?;
    for (name, judge) in judges::ALL {
        let judged = judge(&judges::Image {
            layout: &layout,
            programs: &programs,
            host,
        });
        outcome.add(Outcome::of_check(name, judged));
    }
    outcome.add(start::daemon_sets(host, exe, &programs)?);
    Ok(outcome)
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
    fn build(host: Host<'_>) -> Result<Self> {
        Ok(Self {
            layers: go::build_program(host, env::GO_DEPLOY, "layers")?,
            hosts: go::build_program(Host::Linux, env::GO_DEPLOY, "hosts")?,
            calls: go::build_test(Host::Linux, env::GO_SANITY, "sanity")?,
        })
    }
}

/// A command of this machine.
fn tool(program: &str, arguments: &[&str], file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg(file);
    command
}
