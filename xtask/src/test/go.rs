//! The steps that drive csi-proxy with the official Go clients.

use super::Outcome;
use super::Session;
use super::counts::Counts;
use crate::cargo;
use crate::env;
use crate::env::GoModule;
use crate::host::Host;
use crate::process;
use crate::server;
use crate::server::Node;
use crate::server::Server;
use anyhow::Result;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

const BUILD: Duration = Duration::from_secs(10 * 60);
const RUN: Duration = Duration::from_secs(5 * 60);

/// Wine's CreateSymbolicLinkW reports success and makes nothing; volumes are mounted into simulated
/// folders alone.
const NOT_WITH_WINES_FILES: &str =
    "^(TestALinkLeadsToItsSourceUntilThatIsGone|TestALifeOfAShare|TestALifeOfAVolume)$";

/// The share of every simulated node that is made with the demo's hardware.
const SHARE: [(&str, &str); 3] = [
    ("WINCSI_SHARE", r"\\fileserver\share"),
    ("WINCSI_USER", r"DOMAIN\user"),
    ("WINCSI_PASSWORD", "password"),
];

pub(super) fn linux(session: &Session) -> Result<Outcome> {
    all_clients(session, Host::Linux)
}

pub(super) fn wine(session: &Session) -> Result<Outcome> {
    all_clients(session, Host::Wine(session.prefix()?))
}

fn all_clients(session: &Session, host: Host<'_>) -> Result<Outcome> {
    let started = Instant::now();
    let server = server::build(host, "fast")?;
    let tests: Vec<(GoModule, PathBuf)> = env::GO_CLIENTS
        .iter()
        .map(|client| Ok((*client, build(session, host, *client)?)))
        .collect::<Result<_>>()?;
    let building = started.elapsed();
    let mut counts = Counts::default();
    for (client, test) in &tests {
        counts = counts + one_client(host, *client, &server, test)?;
    }
    Ok(Outcome { counts, building })
}

fn build(session: &Session, host: Host<'_>, client: GoModule) -> Result<PathBuf> {
    let go = session.provision.go()?;
    let test = cargo::work_dir("go-tests")?.join(format!("{}-{}.exe", client.name, host.name()));
    let mut command = go.command(client, &["test", "-c", "-o"]);
    command.arg(&test).arg(".").env("GOOS", host.goos());
    process::capture(&mut command, BUILD)?.success("go test -c")?;
    Ok(test)
}

/// A client's tests, once on a node that is simulated whole and under Wine once more with Wine's own
/// files.
fn one_client(host: Host<'_>, client: GoModule, server: &Path, test: &Path) -> Result<Counts> {
    let dir = tempfile::tempdir()?;
    let simulated = dir.path().join("simulated");
    println!("-- {} on {}, simulated node", client.name, host.name());
    let mut counts = one_node(host, Node::Simulated(&simulated), server, test)?;
    if let Host::Wine(_) = host {
        let native = dir.path().join("native");
        println!("-- {} on {}, native files", client.name, host.name());
        counts = counts + one_node(host, Node::NativeFiles(&native), server, test)?;
    }
    Ok(counts)
}

/// Each run meets a server and a node of its own, so that one run's leavings cannot help the next.
fn one_node(host: Host<'_>, node: Node<'_>, server: &Path, test: &Path) -> Result<Counts> {
    let dir = tempfile::tempdir()?;
    let server = Server::start(host, server, node, dir.path())?;
    let done = process::follow(&mut test_command(host, node, test, &server), RUN)?;
    if !done.status.success() {
        println!("the end of csi-proxy's log:\n{}", server.log());
    }
    server.stop()?;
    Ok(Counts::of_go(&done.output).with_status(done.status.success()))
}

fn test_command(host: Host<'_>, node: Node<'_>, test: &Path, server: &Server) -> Command {
    let mut command = host.command(test);
    command
        .args(["-test.v", "-test.count=1"])
        .env("WINCSI_KUBELET", server::KUBELET);
    if let Some(sockets) = server.sockets() {
        command.env("WINCSI_SOCKETS", sockets);
    }
    let (Node::Simulated(folder) | Node::NativeFiles(folder)) = node;
    command.env("WINCSI_NODE", host.path(folder));
    command.envs(SHARE);
    if let Node::NativeFiles(_) = node {
        command.arg(format!("-test.skip={NOT_WITH_WINES_FILES}"));
    }
    command
}
