//! `cargo xtask demo`: a volume's life on a simulated node, twice over the wire: a driver calls csi-proxy, and kubelet
//! calls `wincsi node`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::cargo::Build;
use crate::host::Host;
use crate::server::{self, Node, Server};
use crate::wine::Prefix;
use crate::{env, process, trial};

pub(crate) mod kubelet;

const PLAY: Duration = Duration::from_secs(5 * 60);

/// Play a driver against csi-proxy, and kubelet against wincsi, on a simulated node
#[derive(Args)]
pub(crate) struct Demo {
    /// Keep csi-proxy up afterwards and say where other clients reach it
    #[arg(long)]
    serve: bool,
    /// Use the Windows programs, under Wine
    #[arg(long)]
    wine: bool,
    /// Play the driver, without kubelet, on a node that answers as machines of a cloud did: azure-scsi, ebs, hyper-v
    /// or vsphere
    #[arg(long)]
    profile: Option<String>,
}

impl Demo {
    pub(crate) fn run(self) -> Result<ExitCode> {
        if !self.wine {
            return self.run_on(Host::Linux);
        }
        env::provide(Host::WINE_NEEDS)?;
        self.run_on(Host::Wine(&Prefix::create()?))
    }

    fn run_on(&self, host: Host<'_>) -> Result<ExitCode> {
        let programs = Programs::build(host)?;
        println!("a driver calls csi-proxy\n");
        let mut fixture = DemoFixture::set(host, &programs, self.profile.as_deref())?;
        fixture.play()?;
        if self.profile.is_none() {
            println!("\nkubelet calls wincsi node\n");
            kubelet::play(host, &programs)?;
        }
        if self.serve {
            fixture.serve()?;
        } else {
            fixture.server.stop()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Plays the driver's part once, and ends csi-proxy.
pub(crate) fn play(host: Host<'_>, programs: &Programs, profile: Option<&str>) -> Result<()> {
    let fixture = DemoFixture::set(host, programs, profile)?;
    fixture.play()?;
    fixture.server.stop()
}

/// The servers of a play, and its player.
pub(crate) struct Programs {
    server: PathBuf,
    wincsi: PathBuf,
    trial: PathBuf,
}

/// The names of the machine profiles.
pub(crate) const PROFILES: [&str; 4] = ["azure-scsi", "ebs", "hyper-v", "vsphere"];

impl Programs {
    /// By their names.
    pub(crate) fn find(program: impl Fn(&str) -> Result<PathBuf>) -> Result<Self> {
        Ok(Self {
            server: program(server::BINARY)?,
            wincsi: program(trial::PLUGIN)?,
            trial: program(trial::PROGRAM)?,
        })
    }

    fn build(host: Host<'_>) -> Result<Self> {
        Self::find(|binary| {
            let package = match binary {
                server::BINARY => server::PACKAGE,
                trial::PLUGIN => trial::PLUGIN_PACKAGE,
                _ => trial::PACKAGE,
            };
            let build = Build {
                package,
                binary,
                profile: "fast",
                target: host.target(),
            };
            build.run()
        })
    }
}

/// A running server and a driver to play.
struct DemoFixture<'a> {
    host: Host<'a>,
    trial: &'a Path,
    profile: Option<&'a str>,
    server: Server,
    dir: tempfile::TempDir,
}

impl<'a> DemoFixture<'a> {
    fn set(host: Host<'a>, programs: &'a Programs, profile: Option<&'a str>) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("wincsi-demo-").tempdir()?;
        let node = node(dir.path());
        if let Some(profile) = profile {
            make_node(host, &programs.trial, dir.path(), profile)?;
        }
        let server = Server::start(host, &programs.server, Node::Simulated(&node), dir.path())?;
        Ok(Self {
            host,
            trial: &programs.trial,
            profile,
            server,
            dir,
        })
    }

    fn play(&self) -> Result<()> {
        let mut command = self.host.command(self.trial);
        let node = self.host.path(&node(self.dir.path()));
        command.args(["demo", "driver", "--node", &node]);
        command.args(self.profile.map(|name| format!("--profile={name}")));
        if let Host::Linux = self.host {
            command.arg(format!("--sockets={}", self.dir.path().display()));
        }
        let played = process::follow(&mut command, PLAY)?.success("the play");
        let end = |error| {
            anyhow!(
                "{error:#}\nthe end of csi-proxy's log:\n{}",
                self.server.log()
            )
        };
        played.map(drop).map_err(end)
    }

    fn serve(&mut self) -> Result<()> {
        println!("\n{}", self.invitation());
        self.server.wait_for_interrupt()
    }

    fn invitation(&self) -> String {
        let dir = self.dir.path().display();
        match self.host {
            Host::Linux => format!(
                "csi-proxy serves on {dir}/csi-proxy-GROUP-VERSION.sock, its node lives in {dir}/node.\n\
                 Ctrl-C ends both."
            ),
            Host::Wine(prefix) => format!(
                "csi-proxy serves on \\\\.\\pipe\\csi-proxy-GROUP-VERSION in the Wine prefix\n\
                 WINEPREFIX={}\nits node lives in {dir}/node. Ctrl-C ends both.",
                prefix.dir().display()
            ),
        }
    }
}

/// The server makes its node by itself, one without a profile.
fn make_node(host: Host<'_>, exe: &Path, dir: &Path, profile: &str) -> Result<()> {
    let mut command = host.command(exe);
    command.args(["node", "demo", &host.path(&node(dir))]);
    command.args(["--profile", profile]);
    process::capture(&mut command, PLAY)?
        .success("no node")
        .map(drop)
}

fn node(dir: &Path) -> PathBuf {
    dir.join("node")
}
