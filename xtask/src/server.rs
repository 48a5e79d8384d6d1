//! csi-proxy as tests, benchmarks and the demo start it: its flags in one place.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::cargo::Build;
use crate::host::Host;
use crate::process::Background;

/// The kubelet folder as a Windows node names it.
pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";

/// The end of a log line of csi-proxy: every free pipe or socket accepts clients now.
const READY: &str = "] ready";

const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(30);

/// Its package and program.
pub(crate) const PACKAGE: &str = "wincsi-proxy";
pub(crate) const BINARY: &str = "csi-proxy";

/// Builds csi-proxy for a host.
pub(crate) fn build(host: Host<'_>, profile: &str) -> Result<PathBuf> {
    let target = host.target();
    Build {
        package: PACKAGE,
        binary: BINARY,
        profile,
        target,
    }
    .run()
}

/// The server's node. The state of a simulated node lives in a folder, made if missing, with one raw disk and one SMB
/// server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    /// All of it is simulated.
    Simulated(&'a Path),
    /// As that, but with the host's own files; the host must be a Windows.
    NativeFiles(&'a Path),
    /// The host itself; it must be a Windows.
    Host,
}

impl Node<'_> {
    fn flags(self, host: Host<'_>) -> Vec<String> {
        let simulate = |folder| format!("--simulate={}", host.path(folder));
        match self {
            Self::Simulated(folder) => vec![simulate(folder)],
            Self::NativeFiles(folder) => vec![simulate(folder), "--native=files".to_owned()],
            Self::Host => Vec::new(),
        }
    }
}

/// A running csi-proxy; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    process: Background,
    sockets: Option<PathBuf>,
}

impl Server {
    /// Starts csi-proxy and waits until it is ready. `dir` takes its log and its sockets.
    pub(crate) fn start(host: Host<'_>, exe: &Path, node: Node<'_>, dir: &Path) -> Result<Self> {
        let mut server = Self::spawn(host, exe, node, dir)?;
        server.process.wait_for_line(READY, START)?;
        Ok(server)
    }

    /// Starts csi-proxy without waiting for it.
    pub(crate) fn spawn(host: Host<'_>, exe: &Path, node: Node<'_>, dir: &Path) -> Result<Self> {
        let sockets = matches!(host, Host::Linux).then(|| dir.to_owned());
        let mut command = command(host, exe, node, sockets.as_deref());
        let process = Background::start("csi-proxy", &mut command, &dir.join("csi-proxy.log"))?;
        Ok(Self { process, sockets })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The folder of the sockets; on Windows there are pipes instead.
    pub(crate) fn sockets(&self) -> Option<&Path> {
        self.sockets.as_deref()
    }

    /// The last lines of its log.
    pub(crate) fn log(&self) -> String {
        self.process.tail()
    }

    /// Waits until this run is interrupted; an end of the server before that is an error.
    pub(crate) fn wait_for_interrupt(&mut self) -> Result<()> {
        self.process.wait_for_interrupt()
    }

    /// Ends it as an operator would, and fails when it does not end well. Under Wine a signal kills,
    /// there is no asking.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.process.expect_alive()?;
        if self.sockets.is_some() {
            let status = self.process.stop(STOP)?;
            anyhow::ensure!(
                status.success(),
                "csi-proxy ended with {status} when asked to stop"
            );
        }
        Ok(())
    }
}

fn command(host: Host<'_>, exe: &Path, node: Node<'_>, sockets: Option<&Path>) -> Command {
    let mut command = host.command(exe);
    command.arg(format!("--kubelet-path={KUBELET}"));
    command.args(node.flags(host));
    if let Some(folder) = sockets {
        command.arg(format!("--listen={}", folder.display()));
    }
    command
}
