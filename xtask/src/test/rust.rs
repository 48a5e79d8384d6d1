//! The steps with tests in Rust.
//!
//! Cargo builds the test programs; they are run here, each by itself, so a dead one is known by name, status and last
//! words.

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::Session;
use super::artifacts::{Artifact, Built};
use super::lanes::{self, Lanes};
use super::outcome::Outcome;
use super::program::Program;
use super::verdict::Language;
use crate::host::Host;
use crate::packages::{self, Package};
use crate::{cargo, process};

const BUILD: Duration = Duration::from_secs(30 * 60);
const DOCUMENTATION: Duration = Duration::from_secs(20 * 60);

/// The packages without code for Windows that run under Wine none the less, and why.
const LIVES: &[(&str, &str)] = &[
    (
        "wincsi-driver",
        "the program on tcp, through a volume's life",
    ),
    (
        "wincsi-trial-driver",
        "the demo: one life of a node, in process and, in a step of its own, over pipes",
    ),
];

/// The test programs of packages with code for Windows that stay out under Wine, and why.
const NOT_UNDER_WINE: &[(&str, &str)] = &[
    (
        "crates/driver/tests/disks/main.rs",
        "deaths, machines and disks on the simulated node, the same everywhere; driver/tests/program runs",
    ),
    (
        "crates/driver/tests/it/main.rs",
        "requests for shares and counts on the simulated node, and pages, the same everywhere; driver/tests/program runs",
    ),
    (
        "crates/driver/tests/pipes.rs",
        "a proxy on sockets, which are pipes there",
    ),
    (
        "crates/driver/tests/share_pipes.rs",
        "a proxy on sockets, which are pipes there",
    ),
    (
        "crates/driver/tests/shares/main.rs",
        "deaths and servers on the simulated node, the same everywhere; driver/tests/program runs",
    ),
    (
        "crates/proxy/tests/drivers/main.rs",
        "each driver's life of a volume, minutes in all; the demo plays one over the same pipes, and the \
         Go clients call every method",
    ),
    (
        "crates/proxy/tests/simulated/main.rs",
        "clients' paths on simulated files, the same everywhere; proxy/tests/it calls over the pipes",
    ),
    (
        "crates/trial-driver/tests/node.rs",
        "the node of csi-sanity and the cluster, which make it on Linux",
    ),
];

/// The jobs of a lane, one after the other.
enum Job<'a> {
    /// The examples in the selected packages' documentation; cargo builds and runs them in one go.
    Documentation(Vec<String>),
    Program(&'a Artifact),
}

pub(super) fn linux(session: &Session) -> Result<Outcome> {
    let built = session.built(Host::Linux)?;
    let everything = Job::Documentation(vec!["--workspace".to_owned()]);
    let programs = built.tests.iter().map(Job::Program);
    let jobs: Vec<_> = [everything].into_iter().chain(programs).collect();
    run_all(lanes::LINUX, &jobs)
}

/// In two prefixes at a time: most of these programs wait for Wine's server, and each prefix has its own.
pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let lanes = session.wine()?;
    let programs = session.built(lanes[0])?.tests.iter();
    let jobs = programs.map(Job::Program);
    // One may be built for the sake of another package's of its name.
    let jobs: Vec<_> = jobs.filter(|job| !is_left_out(job.name())).collect();
    let mut outcome = run_all(lanes, &jobs)?;
    outcome.note("left out: packages without code for Windows, but for those that follow");
    for (name, why) in LIVES {
        outcome.note(format!("run: {name} ({why})"));
    }
    for (name, why) in NOT_UNDER_WINE {
        outcome.note(format!("left out: {name} ({why})"));
    }
    Ok(outcome)
}

/// The tests of some packages, on Linux.
pub(super) fn of(packages: &[&Package]) -> Result<Outcome> {
    let selected = |one: &&Package| format!("--package={}", one.name);
    let all: Vec<_> = packages.iter().map(selected).collect();
    let libraries = packages.iter().filter(|one| one.has_library);
    let documented: Vec<_> = libraries.map(selected).collect();
    let built = build(Host::Linux, &all)?;
    let mut jobs: Vec<_> = built.tests.iter().map(Job::Program).collect();
    if !documented.is_empty() {
        jobs.insert(0, Job::Documentation(documented));
    }
    let mut outcome = run_all(lanes::LINUX, &jobs)?;
    outcome.building += built.took;
    Ok(outcome)
}

/// Builds a host's tests, and with them the programs for other steps. Clippy compiles the examples.
pub(super) fn build_all(host: Host<'_>) -> Result<Built> {
    // rustdoc builds documentation tests for its own machine: not for Wine.
    let mut selection = ["--lib", "--bins"].map(str::to_owned).to_vec();
    let Host::Wine(_) = host else {
        selection.extend(["--workspace", "--tests"].map(str::to_owned));
        return build(host, &selection);
    };
    let mut packages = packages::all()?;
    packages.retain(|one| LIVES.iter().any(|(name, _)| *name == one.name));
    packages.extend(packages::with_windows_code()?);
    for package in &packages {
        selection.push(format!("--package={}", package.name));
        let tests = package
            .tests
            .iter()
            .filter(|(_, source)| !is_left_out(source));
        selection.extend(tests.map(|(name, _)| format!("--test={name}")));
    }
    build(host, &selection)
}

fn is_left_out(source: &str) -> bool {
    NOT_UNDER_WINE.iter().any(|(name, _)| *name == source)
}

fn build(host: Host<'_>, selection: &[String]) -> Result<Built> {
    let mut command = cargo::cargo();
    command.args([
        "test",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    command.args(selection);
    if let Some(target) = host.target() {
        command.args(["--target", target]);
    }
    let (done, messages) = process::data(&mut command, BUILD)?;
    let took = done.took;
    done.success("the tests cannot be built")?;
    let mut built = Built::read(&messages, &cargo::root())?;
    built.took = took;
    Ok(built)
}

fn run_all(lanes: Lanes<'_>, jobs: &[Job<'_>]) -> Result<Outcome> {
    let one = |host: Host<'_>, job: &Job<'_>| Outcome::steady(job.name(), || job.run(host));
    let mut sum = Outcome::default();
    let mut without_tests = Vec::new();
    for (job, ran) in jobs.iter().zip(lanes::run(lanes, jobs, one)?) {
        if ran.is_empty() {
            without_tests.push(job.name());
        }
        sum.add(ran);
    }
    if !without_tests.is_empty() {
        sum.note(format!("without a test here: {}", without_tests.join(", ")));
    }
    Ok(sum)
}

impl Job<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Documentation(_) => "examples in the documentation",
            Self::Program(artifact) => &artifact.name,
        }
    }

    fn run(&self, host: Host<'_>) -> Result<Outcome> {
        let (mut command, limit) = match self {
            Self::Documentation(selection) => (documentation(selection), DOCUMENTATION),
            Self::Program(artifact) => (program(host, artifact), limit()),
        };
        let program = Program {
            step: host.name(),
            name: self.name(),
            limit,
            language: Language::Rust,
        };
        program.run(&mut command)
    }
}

/// No test program runs longer than this. One that draws more cases than usual may take an hour.
fn limit() -> Duration {
    let draws_more = env::var_os("PROPTEST_CASES").is_some();
    Duration::from_secs(60 * if draws_more { 60 } else { 10 })
}

fn documentation(selection: &[String]) -> Command {
    let mut command = cargo::cargo();
    command
        .args(["test", "--doc", "--no-fail-fast"])
        .args(selection);
    command
}

/// A test program as cargo runs it: in its package's folder.
fn program(host: Host<'_>, artifact: &Artifact) -> Command {
    let mut command = host.command(&artifact.exe);
    command
        .current_dir(&artifact.dir)
        .env("CARGO_MANIFEST_DIR", &artifact.dir);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A renamed one would run, or a package would not, by a stale name.
    #[test]
    fn what_is_named_as_an_exception_is_there() {
        let packages = packages::all().unwrap();
        let is_test = |name: &str| {
            let mut tests = packages.iter().flat_map(|one| &one.tests);
            tests.any(|(_, source)| source == name)
        };
        assert!(NOT_UNDER_WINE.iter().all(|(name, _)| is_test(name)));
        let is_package = |name: &str| packages.iter().any(|one| one.name == name);
        assert!(LIVES.iter().all(|(name, _)| is_package(name)));
    }
}
