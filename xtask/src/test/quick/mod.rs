//! `cargo xtask test --quick`: finds in minutes, on two processors, what a change can have broken.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use super::counts::Counts;
use super::outcome::Outcome;
use super::report::{self, Row};
use super::rust;
use crate::env::{self, Need};
use crate::packages::{self, Package};
use crate::tidy;

mod changes;
mod plan;

use self::changes::Changes;
use self::plan::Plan;

/// The package whose tests use the makers of filesystems.
const MAKES_FILESYSTEMS: &str = "wincsi-formats";

pub(super) fn run() -> Result<ExitCode> {
    let changes = Changes::read()?;
    println!("quick: {changes}");
    if changes.files.is_empty() {
        println!("quick: nothing has changed, nothing is run\n\n0 passed, 0 failed, 0 skipped");
        return Ok(ExitCode::SUCCESS);
    }
    let packages = packages::all()?;
    let plan = Plan::new(&packages, &changes.files, plan::readers)?;
    print!("{plan}");
    let started = Instant::now();
    if plan.tested().any(|one| one.name == MAKES_FILESYSTEMS) {
        env::provide(&[Need::Mkfs])?;
    }
    let set_up = started.elapsed();
    Ok(report::print(set_up, &rows(&plan)))
}

fn rows(plan: &Plan<'_>) -> Vec<Row> {
    let tested: Vec<&Package> = plan.tested().collect();
    let linted: Vec<&str> = plan.linted().collect();
    let mut rows = vec![step("style", "the rules of the house and rustfmt", || {
        tidy::quick().map(|()| one_check())
    })];
    if !linted.is_empty() {
        let about = "all targets of what changed and of what depends on it";
        let clippy = || tidy::clippy_of(&linted).map(|()| one_check());
        rows.push(step("clippy", about, clippy));
    }
    if !tested.is_empty() {
        let about = "cargo test of what changed, two programs at a time";
        rows.push(step("linux", about, || rust::of(&tested)));
    }
    rows
}

/// A check counts as one test.
fn one_check() -> Outcome {
    Outcome {
        counts: Counts::passed(1),
        ..Outcome::default()
    }
}

fn step(name: &'static str, about: &str, run: impl FnOnce() -> Result<Outcome>) -> Row {
    println!("\n== {name}: {about}");
    let started = Instant::now();
    let outcome = run();
    Row::ran(name, about, outcome, started.elapsed())
}
