//! The measured servers: how each starts, and its client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Options;
use crate::cargo;
use crate::env::{self, Go};
use crate::host::Host;
use crate::process::{self, Background};
use crate::server::{self, Node, Server};

const BUILD: Duration = Duration::from_secs(10 * 60);
const RUN: Duration = Duration::from_secs(3 * 60);
const START: Duration = Duration::from_secs(40);

/// The pipe of the raw echo; the other servers have csi-proxy's own.
const ECHO_PIPE: &str = r"\\.\pipe\wincsi-raw-echo";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Messages there and back with nothing in between: the limit.
    RawEcho,
    /// grpc-go over go-winio: the peer.
    Go,
    /// csi-proxy, ours or built elsewhere.
    Proxy,
}

/// A measured server, and its program.
#[derive(Clone, Debug)]
pub(super) struct Contestant {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) exe: PathBuf,
}

/// The programs of one host, built.
pub(super) struct Programs<'a> {
    host: Host<'a>,
    load: PathBuf,
    pub(super) idle: PathBuf,
    /// Raw echo, Go peer, ours, and then the rivals.
    pub(super) contestants: Vec<Contestant>,
}

impl<'a> Programs<'a> {
    pub(super) fn build(host: Host<'a>, profile: &str, options: &Options) -> Result<Self> {
        let mut programs = Self::build_proxies(host, profile, options)?;
        let dir = dir(host)?;
        let echo = echo(host, &dir.join("rawecho.exe"))?;
        let peer = go(host, "peer", &dir.join("peer.exe"))?;
        let others = [
            Contestant::new("raw echo", Kind::RawEcho, echo),
            Contestant::new("Go peer", Kind::Go, peer),
        ];
        programs.contestants.splice(..0, others);
        Ok(programs)
    }

    /// Without raw echo and Go peer: ours is the first.
    pub(super) fn build_proxies(host: Host<'a>, profile: &str, options: &Options) -> Result<Self> {
        let dir = dir(host)?;
        let proxies = options.builds(server::BINARY, server::build(host, profile)?, file(host));
        let proxies = proxies.into_iter();
        let proxies = proxies.map(|(name, exe)| Contestant::new(&name, Kind::Proxy, exe));
        Ok(Self {
            host,
            load: go(host, "load", &dir.join("load.exe"))?,
            idle: rust(host, "idle", &dir.join("idle.exe"))?,
            contestants: proxies.collect(),
        })
    }

    /// Starts a server. The raw echo serves by then; for the others the first caller waits.
    pub(super) fn start(&self, contestant: &Contestant, dir: &Path) -> Result<RunningContestant> {
        let Contestant { name, kind, exe } = contestant;
        let address = self.address(*kind, dir);
        let mut command = self.host.command(exe);
        match kind {
            Kind::RawEcho => command.args(["serve", &address]),
            Kind::Go => command.args(["-address", &address]),
            Kind::Proxy => return self.start_proxy(exe, dir).map(RunningContestant::Proxy),
        };
        let mut server = Background::start(name, &mut command, &dir.join("server.log"))?;
        if *kind == Kind::RawEcho {
            server.wait_for_line("serving", START)?;
        }
        Ok(RunningContestant::Plain(server))
    }

    fn start_proxy(&self, exe: &Path, dir: &Path) -> Result<Server> {
        let folder = dir.join("node");
        Server::spawn(self.host, exe, node(self.host, &folder), dir)
    }

    /// Drives a server with so many clients and calls, and returns what the load generator measured.
    pub(super) fn load(
        &self,
        contestant: &Contestant,
        dir: &Path,
        clients: u32,
        calls: u32,
    ) -> Result<Value> {
        let (clients, calls) = (clients.to_string(), calls.to_string());
        let mut command = match contestant.kind {
            Kind::RawEcho => {
                let mut command = self.host.command(&contestant.exe);
                let address = self.address(contestant.kind, dir);
                command.args(["load", &address, &clients, &calls]);
                command
            }
            Kind::Go | Kind::Proxy => {
                let mut command = self.caller(contestant.kind, dir);
                command.args(["-clients", &clients, "-calls", &calls]);
                command
            }
        };
        json(&process::capture(&mut command, RUN)?.success("load")?)
    }

    /// Starts a client; it waits for the server's first answer.
    pub(super) fn first_caller(&self, contestant: &Contestant, dir: &Path) -> Result<Background> {
        let mut command = self.caller(contestant.kind, dir);
        command.arg("-first");
        let mut caller = Background::start("first caller", &mut command, &dir.join("first.log"))?;
        caller.wait_for_line("waiting", START)?;
        Ok(caller)
    }

    /// The official Go client, with an existing path.
    fn caller(&self, kind: Kind, dir: &Path) -> Command {
        let mut command = self.host.command(&self.load);
        if let Host::Linux = self.host {
            command.args(["-address", &self.address(kind, dir)]);
        }
        if let (Host::Linux, Kind::Go) = (self.host, kind) {
            // The peer looks at this machine's own files.
            command.args(["-path", "/proc"]);
        }
        command
    }

    fn address(&self, kind: Kind, dir: &Path) -> String {
        match (self.host, kind) {
            (Host::Wine(_), Kind::RawEcho) => ECHO_PIPE.to_owned(),
            (host, _) => filesystem(host, dir),
        }
    }
}

fn dir(host: Host<'_>) -> Result<PathBuf> {
    let dir = cargo::work_dir("bench")?.join(host.name());
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// csi-proxy's file in a folder of a build.
pub(super) fn file(host: Host<'_>) -> &'static str {
    match host {
        Host::Linux => "csi-proxy",
        Host::Wine(_) => "csi-proxy.exe",
    }
}

/// The node of a measured csi-proxy.
pub(super) fn node<'a>(host: Host<'_>, folder: &'a Path) -> Node<'a> {
    match host {
        Host::Linux => Node::Simulated(folder),
        // Wine runs the provider of WMI within the process that asks: 10 MiB, which the Go peer has not.
        Host::Wine(_) => Node::NativeFiles(folder),
    }
}

/// The address of filesystem v1 on a csi-proxy started for the folder `dir`.
pub(super) fn filesystem(host: Host<'_>, dir: &Path) -> String {
    match host {
        Host::Wine(_) => r"\\.\pipe\csi-proxy-filesystem-v1".to_owned(),
        Host::Linux => {
            let socket = dir.join("csi-proxy-filesystem-v1.sock");
            socket.display().to_string()
        }
    }
}

impl Contestant {
    fn new(name: &str, kind: Kind, exe: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            exe,
        }
    }
}

/// A server under measurement; dropping it ends it.
pub(super) enum RunningContestant {
    Plain(Background),
    Proxy(Server),
}

impl RunningContestant {
    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Plain(process) => process.id(),
            Self::Proxy(server) => server.id(),
        }
    }
}

/// The line of JSON in a program's output.
pub(super) fn json(output: &str) -> Result<Value> {
    let line = output.lines().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("no JSON in {output:?}"))?;
    serde_json::from_str(line).with_context(|| format!("read {line}"))
}

fn echo(host: Host<'_>, to: &Path) -> Result<PathBuf> {
    let (compiler, part, options) = match host {
        Host::Linux => ("cc", "linux.c", ["-O2", "-pthread"]),
        Host::Wine(_) => ("x86_64-w64-mingw32-gcc", "windows.c", ["-O2", "-s"]),
    };
    let mut command = Command::new(compiler);
    command.current_dir(cargo::root().join("bench/rawecho"));
    command.args(options).args(["rawecho.c", part]);
    compile(&mut command, to)
}

fn go(host: Host<'_>, package: &str, to: &Path) -> Result<PathBuf> {
    let arguments = ["build", "-trimpath", "-ldflags=-s -w", "-o"];
    let mut command = Go::provide()?.command(env::GO_BENCH, &arguments);
    command.arg(to).arg(format!("./{package}"));
    process::capture(command.env("GOOS", host.goos()), BUILD)?.success("go build")?;
    Ok(to.to_owned())
}

/// Compiles the program in `bench/NAME`.
pub(super) fn rust(host: Host<'_>, name: &str, to: &Path) -> Result<PathBuf> {
    let mut command = Command::new("rustc");
    command.current_dir(cargo::root());
    command.args(["--edition=2024", "-O", "-Cstrip=symbols"]);
    command.arg(format!("bench/{name}/main.rs"));
    if let Some(target) = host.target() {
        command.args(["--target", target]);
    }
    compile(&mut command, to)
}

fn compile(command: &mut Command, to: &Path) -> Result<PathBuf> {
    command.arg("-o").arg(to);
    process::capture(command, BUILD)?.success(&process::describe(command))?;
    Ok(to.to_owned())
}
