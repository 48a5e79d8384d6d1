//! The steps with csi-proxy and the official Go clients.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Session;
use super::lanes::{self, Lanes};
use super::outcome::Outcome;
use super::program::Program;
use super::verdict::Language;
use crate::env::{self, Go, GoModule};
use crate::host::Host;
use crate::server::{self, Node, Server};
use crate::{cargo, process};

const BUILD: Duration = Duration::from_secs(10 * 60);
const RUN: Duration = Duration::from_secs(5 * 60);

/// The tests that start csi-proxy themselves.
const OWN_PROXY: &[&str] = &[
    "TestClientsOutliveTheProxy",
    "TestNoCallIsLostWhenIdleConnectionsEnd",
];

/// The tests that need simulated files under Wine, and why.
const NOT_WITH_WINES_FILES: &[(&str, &str)] = &[
    ("TestALinkLeadsToItsSourceUntilThatIsGone", NO_SYMLINKS),
    (
        "TestAClientThatStartsAnewFindsItsVolumeMounted",
        NO_MOUNTING,
    ),
    ("TestEveryRPCOfEveryVersion", NO_MOUNTING),
    ("TestTwoClientsAtATimeStageTheirOwnVolumes", NO_MOUNTING),
];

/// The tests with Wine itself as the whole node.
const ON_WINE_ITSELF: &[&str] = &[
    "TestIsLinkOfFoldersAndOfNothing",
    "TestMkdirMakesAPathThatRmdirRemoves",
    "TestPathsAreRefusedInWordsThatDriversKnow",
    "TestRmdirContentsEmptiesAndKeepsTheFolder",
    "TestRmdirOfNothingSaysThatNothingIsThere",
    "TestRmdirSparesAFullFolderUnlessForced",
    "TestTheAuthorityIsThePipePath",
];

const NO_SYMLINKS: &str = "Wine's CreateSymbolicLinkW reports success and makes nothing";
const NO_MOUNTING: &str = "a simulated volume is mounted into simulated folders alone";

/// The share of every simulated node with the demo's hardware.
const SHARE: [(&str, &str); 3] = [
    ("WINCSI_SHARE", r"\\fileserver\share"),
    ("WINCSI_USER", r"DOMAIN\user"),
    ("WINCSI_PASSWORD", "password"),
];

pub(super) fn linux(session: &Session) -> Result<Outcome> {
    all_clients(session, lanes::LINUX)
}

pub(super) fn wine(session: &Session) -> Result<Outcome> {
    let mut outcome = all_clients(session, session.wine()?)?;
    for (test, why) in NOT_WITH_WINES_FILES {
        outcome.note(format!("on simulated files alone: {test} ({why})"));
    }
    outcome.note("docs/compatibility.md lists the calls that this leaves to simulated files");
    Ok(outcome)
}

/// Two clients at a time, each with a csi-proxy of its own.
fn all_clients(session: &Session, lanes: Lanes<'_>) -> Result<Outcome> {
    let host = lanes[0];
    let server = session.built(host)?.binary(server::BINARY)?;
    let started = Instant::now();
    let tests: Vec<(GoModule, PathBuf)> = env::GO_CLIENTS
        .iter()
        .map(|client| Ok((*client, build_test(host, *client, client.name)?)))
        .collect::<Result<_>>()?;
    let mut outcome = Outcome {
        building: started.elapsed(),
        ..Outcome::default()
    };
    let one = |host: Host<'_>, (client, test): &(GoModule, PathBuf)| {
        one_client(host, *client, server, test)
    };
    for ran in lanes::run(lanes, &tests, one)? {
        outcome.add(ran);
    }
    Ok(outcome)
}

/// Builds the tests of a module.
pub(super) fn build_test(host: Host<'_>, module: GoModule, name: &str) -> Result<PathBuf> {
    build(host, module, name, ".", &["test", "-c"])
}

/// Builds a program of a package in a module.
pub(super) fn build_program(host: Host<'_>, module: GoModule, package: &str) -> Result<PathBuf> {
    build(host, module, package, &format!("./{package}"), &["build"])
}

fn build(
    host: Host<'_>,
    module: GoModule,
    name: &str,
    package: &str,
    arguments: &[&str],
) -> Result<PathBuf> {
    let program = cargo::work_dir("go-tests")?.join(format!("{name}-{}.exe", host.name()));
    let mut command = Go::provide()?.command(module, arguments);
    command.arg("-o").arg(&program).arg(package);
    process::capture(command.env("GOOS", host.goos()), BUILD)?.success("go build")?;
    Ok(program)
}

/// A client's tests, on a wholly simulated node, under Wine also on one with Wine's own files and on Wine itself, and
/// then the tests that run csi-proxy themselves.
fn one_client(host: Host<'_>, client: GoModule, server: &Path, test: &Path) -> Result<Outcome> {
    let programs = Programs { server, test };
    let named = |kind: &str| format!("{}, {kind}", client.name);
    let name = named("simulated node");
    let mut outcome = fresh(&name, |folder| {
        one_node(host, Node::Simulated(folder), folder, programs, &name)
    })?;
    if let Host::Wine(_) = host {
        let name = named("native files");
        outcome.add(fresh(&name, |folder| {
            one_node(host, Node::NativeFiles(folder), folder, programs, &name)
        })?);
        let name = named("native node");
        outcome.add(fresh(&name, |folder| {
            one_node(host, Node::Host, folder, programs, &name)
        })?);
    }
    let name = named("csi-proxy of their own");
    outcome.add(fresh(&name, |folder| {
        own_proxy(host, folder, programs, &name)
    })?);
    Ok(outcome)
}

/// csi-proxy, and its callers.
#[derive(Clone, Copy)]
struct Programs<'a> {
    server: &'a Path,
    test: &'a Path,
}

/// Each run has a node of its own, so one run's leftovers cannot help the next.
fn fresh(name: &str, run: impl Fn(&Path) -> Result<Outcome>) -> Result<Outcome> {
    Outcome::steady(name, || {
        let dir = tempfile::tempdir()?;
        run(&dir.path().join("node"))
    })
}

fn one_node(
    host: Host<'_>,
    node: Node<'_>,
    folder: &Path,
    programs: Programs<'_>,
    name: &str,
) -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let server = Server::start(host, programs.server, node, dir.path())?;
    let mut command = test_command(host, folder, programs.test, server.sockets());
    command.arg(selection(host, node));
    let mut outcome = run(host, name, &mut command)?;
    for failure in &mut outcome.failures {
        failure.output += &format!("\nthe end of csi-proxy's log:\n{}", server.log());
    }
    outcome.check("csi-proxy", server.stop());
    Ok(outcome)
}

/// Under Wine each test runs once, on Wine itself if possible, else with Wine's own files if possible: each operation
/// on simulated ones is many of Wine's.
fn selection(host: Host<'_>, node: Node<'_>) -> String {
    let simulated: Vec<&str> = NOT_WITH_WINES_FILES.iter().map(|(name, _)| *name).collect();
    let (simulated, native) = (simulated.join("|"), ON_WINE_ITSELF.join("|"));
    let own_proxy = OWN_PROXY.join("|");
    match (host, node) {
        (Host::Linux, _) => format!("-test.skip=^({own_proxy})$"),
        (Host::Wine(_), Node::Simulated(_)) => format!("-test.run=^({simulated})$"),
        (Host::Wine(_), Node::NativeFiles(_)) => {
            format!("-test.skip=^({simulated}|{native}|{own_proxy})$")
        }
        (Host::Wine(_), Node::Host) => format!("-test.run=^({native})$"),
    }
}

/// Names of pipes are the machine's, so tests that start csi-proxy run beside no other.
fn own_proxy(host: Host<'_>, folder: &Path, programs: Programs<'_>, name: &str) -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let sockets = matches!(host, Host::Linux).then(|| dir.path());
    let mut command = test_command(host, folder, programs.test, sockets);
    command
        .arg(format!("-test.run=^({})$", OWN_PROXY.join("|")))
        .env("WINCSI_SERVER", host.path(programs.server));
    run(host, name, &mut command)
}

fn run(host: Host<'_>, name: &str, command: &mut Command) -> Result<Outcome> {
    let program = Program {
        step: &format!("go-{}", host.name()),
        name,
        limit: RUN,
        language: Language::Go,
    };
    Ok(program.run(command)?.not_empty(name))
}

fn test_command(host: Host<'_>, node: &Path, test: &Path, sockets: Option<&Path>) -> Command {
    let mut command = host.command(test);
    command
        .args(["-test.v", "-test.count=1"])
        .env("WINCSI_KUBELET", server::KUBELET)
        .env("WINCSI_NODE", host.path(node))
        .envs(SHARE);
    if let Some(sockets) = sockets {
        command.env("WINCSI_SOCKETS", sockets);
    }
    command
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A renamed test would run elsewhere, or not at all, by a stale name.
    #[test]
    fn every_test_that_is_chosen_by_name_is_there() {
        let sources = fs::read_dir(cargo::root().join("tests/go")).unwrap();
        let sources: String = sources
            .flatten()
            .filter(|file| file.path().extension().is_some_and(|e| e == "go"))
            .map(|file| fs::read_to_string(file.path()).unwrap())
            .collect();
        let names = NOT_WITH_WINES_FILES.iter().map(|(name, _)| name);
        for name in names.chain(ON_WINE_ITSELF).chain(OWN_PROXY) {
            assert!(sources.contains(&format!("func {name}(")), "{name}");
        }
    }
}
