//! The steps that cargo runs.

use super::Outcome;
use super::Session;
use super::counts::Counts;
use crate::cargo;
use crate::process;
use crate::wine::runner;
use anyhow::Result;
use std::process::Command;
use std::time::Duration;

const BUILD: Duration = Duration::from_secs(30 * 60);
const RUN: Duration = Duration::from_secs(20 * 60);

/// No test program runs longer than this under Wine.
const ONE_PROGRAM: Duration = Duration::from_secs(5 * 60);

pub(super) fn linux(_: &Session) -> Result<Outcome> {
    tests(&|| {
        let mut command = test_command();
        command.arg("--workspace");
        Ok(command)
    })
}

pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let prefix = session.prefix()?;
    tests(&|| {
        let mut command = test_command();
        // Documentation tests are built by rustdoc for the machine that runs it: not for Wine.
        command.args(["--target", cargo::WINDOWS, "--lib", "--bins", "--tests"]);
        // The chores themselves run on Linux alone. So does `node`: it has no code for a platform, and
        // its thousands of deaths and repetitions on a simulated disk take Wine half an hour.
        command.args(["--workspace", "--exclude", "xtask"]);
        command.args(["--exclude", "wincsi-node"]);
        runner::install(&mut command, prefix, ONE_PROGRAM)?;
        Ok(command)
    })
}

fn test_command() -> Command {
    let mut command = cargo::cargo();
    command.args(["test", "--no-fail-fast"]);
    command
}

/// Builds first, so that the table can tell compiling from running.
fn tests(command: &dyn Fn() -> Result<Command>) -> Result<Outcome> {
    let build = process::follow(command()?.arg("--no-run"), BUILD)?;
    let building = build.took;
    if !build.status.success() {
        return Ok(Outcome {
            counts: Counts::one_failed(),
            building,
        });
    }
    let run = process::follow(&mut command()?, RUN)?;
    let counts = Counts::of_cargo(&run.output).with_status(run.status.success());
    Ok(Outcome { counts, building })
}
