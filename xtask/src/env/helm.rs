//! Helm, of both its majors.
//!
//! Neither Debian nor PyPI nor npm has the program, so it is built from its modules: four minutes the first time, then a
//! few seconds, as Go keeps what it compiled.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::go::{Go, HELM};
use crate::{cargo, process};

const BUILD: Duration = Duration::from_secs(30 * 60);

/// A Helm.
#[derive(Debug)]
pub(crate) struct Helm {
    pub(crate) major: u8,
    program: PathBuf,
}

impl Helm {
    /// Helm 4 and Helm 3.
    pub(crate) fn both() -> Result<[Self; 2]> {
        Ok([Self::build(4)?, Self::build(3)?])
    }

    fn build(major: u8) -> Result<Self> {
        let program = cargo::work_dir("helm")?.join(format!("helm{major}"));
        if !program.is_file() {
            println!("setup: building Helm {major}, the first time for minutes");
        }
        let go = Go::provide()?;
        let mut command = go.command(HELM, &["build", "-trimpath", "-ldflags=-s -w", "-o"]);
        command.arg(&program);
        command.arg(format!("helm.sh/helm/v{major}/cmd/helm"));
        process::capture(&mut command, BUILD)?.success("go build of Helm")?;
        Ok(Self { major, program })
    }

    /// A command that knows no settings and no cluster of its user.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        for name in ["HELM_CONFIG_HOME", "HELM_DATA_HOME", "KUBECONFIG"] {
            command.env(name, "/nonexistent");
        }
        command
    }
}
