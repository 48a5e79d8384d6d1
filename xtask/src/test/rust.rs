//! The steps whose tests are written in Rust.
//!
//! Cargo builds the test programs; they are run here, each by itself, so that one that dies is known
//! by name, status and last words.

use std::panic;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::Result;

use super::Session;
use super::artifacts;
use super::artifacts::Artifact;
use super::outcome::Failure;
use super::outcome::Outcome;
use super::program::Language;
use super::program::Program;
use crate::cargo;
use crate::host::Host;
use crate::process;
use crate::wine::Prefix;

const BUILD: Duration = Duration::from_secs(30 * 60);
const DOCUMENTATION: Duration = Duration::from_secs(20 * 60);

/// No test program runs longer than this.
const ONE_PROGRAM: Duration = Duration::from_secs(10 * 60);

/// The test programs that stay out under Wine, and why. Of each there is another of its kind that runs there.
const NOT_UNDER_WINE: &[(&str, &str)] = &[
    (
        "crates/node/tests/crash.rs",
        "nearly 3,000 simulated nodes, each of which takes Wine a while; crash_services.rs and \
         crash_mounted_folder.rs run",
    ),
    (
        "crates/node/tests/exhaustive/main.rs",
        "hundreds of simulated nodes, and a tree of 150 folders, which takes Wine minutes; \
         crash_services.rs, crash_mounted_folder.rs, iscsi.rs, filesystem.rs and blankness.rs run",
    ),
    (
        "crates/proxy/tests/random_paths.rs",
        "thousands of calls on random trees; paths/main.rs runs",
    ),
];

pub(super) fn linux(_: &Session) -> Result<Outcome> {
    let mut outcome = programs(&[Host::Linux], &["--workspace"], &[])?;
    outcome.add(documentation()?);
    Ok(outcome)
}

/// In two prefixes at a time: most of these programs wait for Wine's server, and each prefix has its own.
pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let beside = Prefix::create()?;
    let hosts = [Host::Wine(session.prefix()?), Host::Wine(&beside)];
    // Documentation tests are built by rustdoc for the machine that runs it: not for Wine. The chores
    // themselves run on Linux alone.
    let arguments = [
        "--lib",
        "--bins",
        "--tests",
        "--workspace",
        "--exclude",
        "xtask",
    ];
    programs(&hosts, &arguments, NOT_UNDER_WINE)
}

/// Builds the test programs, then runs all but those left out, each on one of the hosts, which are of a kind.
fn programs(hosts: &[Host<'_>], arguments: &[&str], left_out: &[(&str, &str)]) -> Result<Outcome> {
    let (mut outcome, mut built) = build(hosts, arguments)?;
    if !outcome.failures.is_empty() {
        return Ok(outcome);
    }
    for (name, why) in left_out {
        let before = built.len();
        built.retain(|artifact| artifact.name != *name);
        anyhow::ensure!(
            built.len() < before,
            "{name} is to be left out, and is not there"
        );
        outcome.note(format!("left out: {name} ({why})"));
    }
    let mut without_tests = Vec::new();
    for (artifact, ran) in built.iter().zip(run_all(hosts, &built)?) {
        if ran.is_empty() {
            without_tests.push(artifact.name.as_str());
        }
        outcome.add(ran);
    }
    if !without_tests.is_empty() {
        outcome.note(format!("without a test here: {}", without_tests.join(", ")));
    }
    Ok(outcome)
}

/// Runs the programs, one at a time on each host, and answers their outcomes in the programs' order.
fn run_all(hosts: &[Host<'_>], built: &[Artifact]) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let lane = |host| -> Result<Vec<(usize, Outcome)>> {
        let mut ran = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(artifact) = built.get(at) else {
                return Ok(ran);
            };
            ran.push((at, Outcome::steady(&artifact.name, || run(host, artifact))?));
        }
    };
    let mut outcomes = Vec::new();
    let ended: Vec<_> = thread::scope(|scope| {
        let mut lanes = Vec::new();
        for host in hosts {
            lanes.push(scope.spawn(|| lane(*host)));
        }
        lanes.into_iter().map(ScopedJoinHandle::join).collect()
    });
    for lane in ended {
        outcomes.extend(lane.unwrap_or_else(|panicked| panic::resume_unwind(panicked))?);
    }
    outcomes.sort_by_key(|(at, _)| *at);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn build(hosts: &[Host<'_>], arguments: &[&str]) -> Result<(Outcome, Vec<Artifact>)> {
    let mut command = cargo::cargo();
    command.args([
        "test",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    command.args(arguments);
    if let Some(target) = hosts.first().and_then(|host| host.target()) {
        command.args(["--target", target]);
    }
    let (done, messages) = process::data(&mut command, BUILD)?;
    let mut outcome = Outcome {
        building: done.took,
        ..Outcome::default()
    };
    if !done.status.success() {
        let what = format!("the tests cannot be built: {}", done.status);
        outcome.add(Outcome::failed(Failure::new(what, done.output)));
        return Ok((outcome, Vec::new()));
    }
    Ok((outcome, artifacts::read(&messages, &cargo::root())?))
}

/// Runs a test program as cargo does: in its package's folder.
fn run(host: Host<'_>, artifact: &Artifact) -> Result<Outcome> {
    let mut command = host.command(&artifact.exe);
    command
        .current_dir(&artifact.dir)
        .env("CARGO_MANIFEST_DIR", &artifact.dir);
    let program = Program {
        step: host.name(),
        name: &artifact.name,
        limit: ONE_PROGRAM,
        language: Language::Rust,
    };
    program.run(&mut command)
}

/// The examples in the documentation, which cargo builds and runs in one go.
fn documentation() -> Result<Outcome> {
    let mut command = cargo::cargo();
    command.args(["test", "--doc", "--workspace", "--no-fail-fast"]);
    let program = Program {
        step: Host::Linux.name(),
        name: "examples in the documentation",
        limit: DOCUMENTATION,
        language: Language::Rust,
    };
    program.run(&mut command)
}
