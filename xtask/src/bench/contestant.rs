//! The measured servers: how each starts, and its client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};

use super::results::Load;
use crate::cargo;
use crate::env::{self, Provision};
use crate::host::Host;
use crate::process::{self, Background};
use crate::server::{self, Node, Server};

const BUILD: Duration = Duration::from_secs(10 * 60);
const RUN: Duration = Duration::from_secs(3 * 60);
const START: Duration = Duration::from_secs(40);

/// The pipe of the raw echo; the other servers have csi-proxy's own.
const ECHO_PIPE: &str = r"\\.\pipe\wincsi-raw-echo";

/// The raw echo's output once clients find its pipe or socket.
const ECHO_SERVES: &str = "serving";

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Contestant<'a> {
    /// Messages there and back with nothing in between: the limit.
    RawEcho,
    /// grpc-go over go-winio: the peer.
    Go,
    /// csi-proxy.
    Ours,
    /// csi-proxy as it was built elsewhere.
    Rival(&'a Rival),
}

/// Another build of csi-proxy: a folder with `csi-proxy` and `csi-proxy.exe`, and a name for it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Rival {
    pub(super) name: String,
    folder: PathBuf,
}

impl<'a> Contestant<'a> {
    /// The contestants of every run, and then the rivals.
    pub(super) fn all(rivals: &'a [Rival]) -> Vec<Self> {
        let each_time = [Self::RawEcho, Self::Go, Self::Ours];
        each_time
            .into_iter()
            .chain(rivals.iter().map(Self::Rival))
            .collect()
    }

    pub(super) fn name(self) -> &'a str {
        match self {
            Self::RawEcho => "raw echo",
            Self::Go => "Go peer",
            Self::Ours => "csi-proxy",
            Self::Rival(rival) => &rival.name,
        }
    }
}

impl FromStr for Rival {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, folder) = text.split_once('=').ok_or("NAME=FOLDER is wanted")?;
        Ok(Self {
            name: name.to_owned(),
            folder: folder.into(),
        })
    }
}

impl Rival {
    pub(super) fn exe(&self, host: Host<'_>) -> PathBuf {
        match host {
            Host::Linux => self.file("csi-proxy"),
            Host::Wine(_) => self.file("csi-proxy.exe"),
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The programs of one host, built.
#[derive(Debug)]
pub(super) struct Programs<'a> {
    host: Host<'a>,
    echo: PathBuf,
    peer: PathBuf,
    load: PathBuf,
    pub(super) ours: PathBuf,
    pub(super) idle: PathBuf,
}

impl<'a> Programs<'a> {
    pub(super) fn build(host: Host<'a>, profile: &str, provision: &Provision) -> Result<Self> {
        let dir = cargo::work_dir("bench")?.join(host.name());
        fs::create_dir_all(&dir)?;
        let program = |name: &str| dir.join(format!("{name}.exe"));
        let go = |name: &str| go(provision, host, name, &program(name));
        Ok(Self {
            host,
            echo: echo(host, &program("rawecho"))?,
            peer: go("peer")?,
            load: go("load")?,
            ours: server::build(host, profile)?,
            idle: rust(host, "idle", &program("idle"))?,
        })
    }

    /// Starts a server. The raw echo serves by then; for the others the first caller waits.
    pub(super) fn start(
        &self,
        contestant: Contestant<'_>,
        dir: &Path,
    ) -> Result<RunningContestant> {
        match contestant {
            Contestant::RawEcho => self.start_echo(dir).map(RunningContestant::Plain),
            Contestant::Go => {
                let mut command = self.host.command(&self.peer);
                command.arg("-address").arg(self.address(contestant, dir));
                Background::start("Go peer", &mut command, &log(dir)).map(RunningContestant::Plain)
            }
            Contestant::Ours => self
                .start_proxy(&self.ours, dir)
                .map(RunningContestant::Ours),
            Contestant::Rival(rival) => self
                .start_proxy(&rival.exe(self.host), dir)
                .map(RunningContestant::Ours),
        }
    }

    fn start_echo(&self, dir: &Path) -> Result<Background> {
        let mut command = self.host.command(&self.echo);
        command
            .arg("serve")
            .arg(self.address(Contestant::RawEcho, dir));
        let mut echo = Background::start("raw echo", &mut command, &log(dir))?;
        echo.wait_for_line(ECHO_SERVES, START)?;
        Ok(echo)
    }

    fn start_proxy(&self, exe: &Path, dir: &Path) -> Result<Server> {
        let node = dir.join("node");
        let node = match self.host {
            Host::Linux => Node::Simulated(&node),
            Host::Wine(_) => Node::Host,
        };
        Server::spawn(self.host, exe, node, dir)
    }

    /// Drives a server with so many clients and calls.
    pub(super) fn load(
        &self,
        contestant: Contestant<'_>,
        dir: &Path,
        clients: u32,
        calls: u32,
    ) -> Result<Load> {
        let (clients, calls) = (clients.to_string(), calls.to_string());
        let address = self.address(contestant, dir);
        let mut command = match contestant {
            Contestant::RawEcho => {
                let mut command = self.host.command(&self.echo);
                command.args(["load", &address, &clients, &calls]);
                command
            }
            Contestant::Go | Contestant::Ours | Contestant::Rival(_) => {
                let mut command = self.caller(contestant, &address)?;
                command.args(["-clients", &clients, "-calls", &calls]);
                command
            }
        };
        let output = process::capture(&mut command, RUN)?.success("load")?;
        Load::parse(&output)
    }

    /// Starts a client; it waits for the server's first answer.
    pub(super) fn first_caller(
        &self,
        contestant: Contestant<'_>,
        dir: &Path,
    ) -> Result<Background> {
        let mut command = self.caller(contestant, &self.address(contestant, dir))?;
        command.arg("-first");
        let mut caller = Background::start("first caller", &mut command, &dir.join("first.log"))?;
        caller.wait_for_line("waiting", START)?;
        Ok(caller)
    }

    /// The official Go client, with an existing path.
    fn caller(&self, contestant: Contestant<'_>, address: &str) -> Result<Command> {
        let mut command = self.host.command(&self.load);
        if let Host::Linux = self.host {
            command.args(["-address", address]);
        }
        if let (Host::Linux, Contestant::Go) = (self.host, contestant) {
            // The peer looks at this machine's own files.
            command.args(["-path", "/proc"]);
        }
        Ok(command)
    }

    fn address(&self, contestant: Contestant<'_>, dir: &Path) -> String {
        match (self.host, contestant) {
            (Host::Wine(_), Contestant::RawEcho) => ECHO_PIPE.to_owned(),
            (Host::Wine(_), _) => r"\\.\pipe\csi-proxy-filesystem-v1".to_owned(),
            (Host::Linux, _) => dir
                .join("csi-proxy-filesystem-v1.sock")
                .display()
                .to_string(),
        }
    }
}

/// A server under measurement; dropping it ends it.
#[derive(Debug)]
pub(super) enum RunningContestant {
    Plain(Background),
    Ours(Server),
}

impl RunningContestant {
    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Plain(process) => process.id(),
            Self::Ours(server) => server.id(),
        }
    }
}

fn log(dir: &Path) -> PathBuf {
    dir.join("server.log")
}

fn echo(host: Host<'_>, to: &Path) -> Result<PathBuf> {
    let (compiler, part, options) = match host {
        Host::Linux => ("cc", "linux.c", ["-O2", "-pthread"]),
        Host::Wine(_) => ("x86_64-w64-mingw32-gcc", "windows.c", ["-O2", "-s"]),
    };
    let mut command = Command::new(compiler);
    command.current_dir(cargo::root().join("bench/rawecho"));
    command
        .args(options)
        .arg("-o")
        .arg(to)
        .args(["rawecho.c", part]);
    process::capture(&mut command, BUILD)?.success("compile rawecho")?;
    Ok(to.to_owned())
}

fn go(provision: &Provision, host: Host<'_>, package: &str, to: &Path) -> Result<PathBuf> {
    let mut command = provision
        .go()?
        .command(env::GO_BENCH, &["build", "-trimpath"]);
    command
        .args(["-ldflags=-s -w", "-o"])
        .arg(to)
        .arg(format!("./{package}"));
    command.env("GOOS", host.goos());
    process::capture(&mut command, BUILD)?.success("go build")?;
    Ok(to.to_owned())
}

/// Compiles the program in `bench/NAME`.
pub(super) fn rust(host: Host<'_>, name: &str, to: &Path) -> Result<PathBuf> {
    let mut command = Command::new("rustc");
    command.current_dir(cargo::root());
    command
        .args(["--edition=2024", "-O", "-Cstrip=symbols"])
        .arg(format!("bench/{name}/main.rs"))
        .arg("-o")
        .arg(to);
    if let Some(target) = host.target() {
        command.args(["--target", target]);
    }
    process::capture(&mut command, BUILD)?
        .success("compile")
        .with_context(|| format!("bench/{name}"))?;
    Ok(to.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_is_a_name_and_a_folder() {
        let rival: Rival = "before=/tmp/a=b".parse().unwrap();
        assert_eq!(Contestant::Rival(&rival).name(), "before");
        assert_eq!(rival.exe(Host::Linux), Path::new("/tmp/a=b/csi-proxy"));
        assert!("before".parse::<Rival>().is_err());
    }
}
