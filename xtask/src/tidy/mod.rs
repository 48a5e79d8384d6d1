//! `cargo xtask tidy`: all checks of the code without running it.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

use crate::cargo::{self, MSVC};
use crate::env::{self, GO_BENCH, GO_CLIENTS, GO_CLUSTER, GO_DEPLOY, GO_SANITY, Go, Need};
use crate::packages::{self, Package};
use crate::process;

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
    run: fn() -> Result<()>,
}

const QUICK: [Check; 2] = [
    Check {
        name: "house rules",
        needs: &[],
        run: lints::run,
    },
    Check {
        name: "rustfmt",
        needs: &[],
        run: rustfmt,
    },
];

const SLOW: [Check; 5] = [
    Check {
        name: "gofmt",
        needs: &[Need::Go],
        run: gofmt,
    },
    Check {
        name: "go vet",
        needs: &[Need::Go],
        run: go_vet,
    },
    Check {
        name: "clippy",
        needs: &[],
        run: clippy_all,
    },
    Check {
        name: "clippy for Windows",
        needs: &[Need::Msvc],
        run: clippy_for_windows,
    },
    Check {
        name: "rustdoc",
        needs: &[Need::Msvc],
        run: rustdoc,
    },
];

impl Tidy {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let slow: &[Check] = if self.quick { &[] } else { &SLOW };
        let checks: Vec<&Check> = QUICK.iter().chain(slow).collect();
        let started = Instant::now();
        let needs = checks.iter().flat_map(|check| check.needs);
        env::provide(&needs.copied().collect::<Vec<_>>())?;
        println!("tidy: set-up ({} s)", started.elapsed().as_secs());
        let failed = checks.iter().filter(|check| !check.passes()).count();
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
    fn passes(&self) -> bool {
        let started = Instant::now();
        let outcome = (self.run)();
        let seconds = started.elapsed().as_secs();
        match &outcome {
            Ok(()) => println!("tidy: {}: good ({seconds} s)", self.name),
            Err(error) => println!("tidy: {}: FAILED ({seconds} s)\n{error:#}", self.name),
        }
        outcome.is_ok()
    }
}

/// All checks without compiling.
pub(crate) fn quick() -> Result<()> {
    QUICK.iter().try_for_each(|check| (check.run)())
}

fn rustfmt() -> Result<()> {
    run(cargo::cargo().args(["fmt", "--all", "--check"]))
}

pub(crate) fn clippy_all() -> Result<()> {
    clippy(["--workspace", "--all-targets"].map(str::to_owned))
}

/// For packages with code for Windows: what ships, and the tests that have unsafe code for Windows alone. Most other tests
/// are compiled for the other target.
fn clippy_for_windows() -> Result<()> {
    let packages = packages::with_windows_code()?;
    let has_unsafe_tests = |one: &&Package| one.name.starts_with("wincsi-os-windows");
    let (whole, shipped): (Vec<_>, Vec<_>) = packages.iter().partition(has_unsafe_tests);
    clippy_for_msvc(&whole, &["--all-targets"])?;
    clippy_for_msvc(&shipped, &["--lib", "--bins"])
}

fn clippy_for_msvc(packages: &[&Package], targets: &[&str]) -> Result<()> {
    let packages = packages.iter().map(|one| format!("--package={}", one.name));
    let targets = targets.iter().chain(&["--target", MSVC]);
    clippy(packages.chain(targets.map(|one| (*one).to_owned())))
}

/// Each lint is an error.
fn clippy(selection: impl IntoIterator<Item = String>) -> Result<()> {
    let mut command = cargo::cargo();
    command.args(["clippy", "--quiet", "--no-deps"]);
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

fn gofmt() -> Result<()> {
    let go = Go::provide()?;
    for module in [GO_CLIENTS[0], GO_BENCH, GO_CLUSTER, GO_DEPLOY, GO_SANITY] {
        let mut command = go.gofmt(module)?;
        let unformatted = process::capture(command.args(["-l", "."]), LIMIT)?.success("gofmt")?;
        ensure!(unformatted.is_empty(), "not in gofmt's form: {unformatted}");
    }
    Ok(())
}

/// For each system that a module is built for. Kubernetes' are not checked: each of their imports would be compiled.
fn go_vet() -> Result<()> {
    let [new, grpc_138, grpc_127] = GO_CLIENTS;
    let of_both = [new, grpc_138, grpc_127, GO_DEPLOY].map(|module| (module, "linux"));
    let of_windows =
        [new, grpc_138, grpc_127, GO_DEPLOY, GO_BENCH].map(|module| (module, "windows"));
    for (module, system) in of_both
        .iter()
        .chain(&of_windows)
        .chain(&[(GO_SANITY, "linux")])
    {
        run(Go::provide()?
            .command(*module, &["vet", "./..."])
            .env("GOOS", system))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let what = process::describe(command);
    process::capture(command, LIMIT)?.success(&what).map(drop)
}
