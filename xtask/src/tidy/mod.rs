//! `cargo xtask tidy`: all checks of the code without running it.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use crate::cargo::{self, MSVC};
use crate::env::{self, Need, Provision};
use crate::{packages, process};

mod lints;
mod sources;

pub(crate) use lints::Promises;

const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Check formatting, lints and the rules of the house
#[derive(Args)]
pub(crate) struct Tidy {
    /// Check the rules of the house alone, which takes no compiling
    #[arg(long)]
    quick: bool,
}

/// A check with a line of its own in the report.
struct Check {
    name: &'static str,
    needs: &'static [Need],
    run: fn(&Provision) -> Result<()>,
}

const QUICK: &[Check] = &[
    Check {
        name: "house rules",
        needs: &[],
        run: |_| lints::run(),
    },
    Check {
        name: "rustfmt",
        needs: &[],
        run: |_| rustfmt(),
    },
];

const SLOW: &[Check] = &[
    Check {
        name: "gofmt",
        needs: &[Need::Go],
        run: gofmt,
    },
    Check {
        name: "go vet",
        needs: &[Need::Go, Need::GoModules],
        run: go_vet,
    },
    Check {
        name: "clippy",
        needs: &[],
        run: |_| clippy(["--workspace".to_owned()]),
    },
    Check {
        name: "clippy for Windows",
        needs: &[Need::MsvcTarget],
        run: |_| clippy_for_windows(),
    },
    Check {
        name: "rustdoc",
        needs: &[Need::MsvcTarget],
        run: |_| rustdoc(),
    },
];

impl Tidy {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let slow = if self.quick { &[] } else { SLOW };
        let checks: Vec<&Check> = QUICK.iter().chain(slow).collect();
        let needs: Vec<Need> = checks
            .iter()
            .flat_map(|check| check.needs)
            .copied()
            .collect();
        let started = Instant::now();
        let provision = env::provide(&needs)?;
        println!("tidy: set-up ({} s)", started.elapsed().as_secs());
        let failed = checks
            .iter()
            .filter(|check| !check.passes(&provision))
            .count();
        let (all, seconds) = (checks.len(), started.elapsed().as_secs());
        println!("tidy: {failed} of {all} checks failed ({seconds} s in all)");
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

impl Check {
    fn passes(&self, provision: &Provision) -> bool {
        if let Some(reason) = self.needs.iter().find_map(|need| provision.lacks(*need)) {
            println!("tidy: {}: skipped, {reason}", self.name);
            return !env::is_ci();
        }
        let started = Instant::now();
        let outcome = (self.run)(provision);
        let seconds = started.elapsed().as_secs();
        match &outcome {
            Ok(()) => println!("tidy: {}: good ({seconds} s)", self.name),
            Err(error) => println!("tidy: {}: FAILED ({seconds} s)\n{error:#}", self.name),
        }
        outcome.is_ok()
    }
}

fn rustfmt() -> Result<()> {
    run(cargo::cargo().args(["fmt", "--all", "--check"]))
}

/// All checks without compiling.
pub(crate) fn quick() -> Result<()> {
    lints::run()?;
    rustfmt()
}

/// The lints of these packages alone.
pub(crate) fn clippy_of(packages: &[&str]) -> Result<()> {
    clippy(packages.iter().map(|name| format!("--package={name}")))
}

/// For packages with code for Windows. The tests' target compiles the same lines when they are built.
fn clippy_for_windows() -> Result<()> {
    let packages = packages::with_windows_code()?;
    let packages = packages.iter().map(|name| format!("--package={name}"));
    clippy(packages.chain([format!("--target={MSVC}")]))
}

/// All targets, tests included, each lint an error.
fn clippy(selection: impl IntoIterator<Item = String>) -> Result<()> {
    let mut command = cargo::cargo();
    command.args(["clippy", "--quiet", "--all-targets", "--no-deps"]);
    run(command.args(selection).args(["--", "-D", "warnings"]))
}

/// The crates' pages as docs.rs makes them, `os-windows` among them; a dead link, or a crate that does not say what it
/// is, is an error.
fn rustdoc() -> Result<()> {
    let mut command = cargo::cargo();
    command.args(["doc", "--quiet", "--workspace", "--lib", "--no-deps"]);
    command.args(["--target", MSVC, "--exclude", "xtask"]);
    let lints = "-D warnings -D rustdoc::missing_crate_level_docs";
    run(command.env("RUSTDOCFLAGS", lints))
}

fn gofmt(provision: &Provision) -> Result<()> {
    let go = provision.go()?;
    let modules = [
        env::GO_CLIENTS[0],
        env::GO_BENCH,
        env::GO_CLUSTER,
        env::GO_DEPLOY,
        env::GO_SANITY,
    ];
    for module in modules {
        let mut command = go.gofmt(module)?;
        let unformatted = process::capture(command.args(["-l", "."]), LIMIT)?.success("gofmt")?;
        if !unformatted.is_empty() {
            bail!("not in gofmt's form: {unformatted}");
        }
    }
    Ok(())
}

fn go_vet(provision: &Provision) -> Result<()> {
    let go = provision.go()?;
    let more = [env::GO_BENCH, env::GO_DEPLOY, env::GO_SANITY];
    for module in env::GO_CLIENTS.iter().chain(&more) {
        for system in module.systems {
            run(go.command(*module, &["vet", "./..."]).env("GOOS", system))?;
        }
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let what = process::describe(command);
    process::capture(command, LIMIT)?.success(&what).map(drop)
}
