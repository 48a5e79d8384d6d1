//! Installing Debian packages, when this user may.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::path;
use crate::process;

const PROBE: Duration = Duration::from_secs(10);
const UPDATE: Duration = Duration::from_secs(5 * 60);
const INSTALL: Duration = Duration::from_secs(20 * 60);

/// Installs packages; prints what it does before it does it.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    let apt = Apt::find()?;
    println!("setup: installing Debian packages: {}", packages.join(" "));
    apt.update()?;
    let options = ["install", "--yes", "--no-install-recommends"];
    apt.run(&[&options[..], packages].concat(), INSTALL)
        .context("apt-get install")
}

struct Apt {
    program: PathBuf,
    sudo: Option<PathBuf>,
}

impl Apt {
    fn find() -> Result<Self> {
        let program = path::find("apt-get").context("this machine has no apt-get")?;
        if rustix::process::geteuid().is_root() {
            return Ok(Self {
                program,
                sudo: None,
            });
        }
        let sudo = path::find("sudo").context("not root, and no sudo")?;
        let probe = process::capture(Command::new(&sudo).args(["-n", "true"]), PROBE)?;
        if !probe.status.success() {
            bail!("not root, and sudo asks for a password");
        }
        Ok(Self {
            program,
            sudo: Some(sudo),
        })
    }

    /// Fetches the lists of packages, once a run.
    fn update(&self) -> Result<()> {
        static DONE: AtomicBool = AtomicBool::new(false);
        if !DONE.swap(true, Ordering::Relaxed) {
            self.run(&["update"], UPDATE).context("apt-get update")?;
        }
        Ok(())
    }

    fn run(&self, arguments: &[&str], limit: Duration) -> Result<()> {
        let mut command = match &self.sudo {
            Some(sudo) => {
                let mut command = Command::new(sudo);
                command
                    .args(["-n", "DEBIAN_FRONTEND=noninteractive"])
                    .arg(&self.program);
                command
            }
            None => {
                let mut command = Command::new(&self.program);
                command.env("DEBIAN_FRONTEND", "noninteractive");
                command
            }
        };
        process::capture(command.args(arguments), limit)?
            .success("apt-get")
            .map(drop)
    }
}
