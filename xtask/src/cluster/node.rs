//! The node: a simulated one for the driver, and kubelet on top; beside it the controllers of the driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::plane::Plane;
use super::programs::Programs;
use super::running::RunningCluster;
use super::sockets::Sockets;
use super::{sidecars, wine};
use crate::host::Host;
use crate::process;
use crate::server::KUBELET;
use crate::trial::{self, NODE};

const SHORT: Duration = Duration::from_secs(60);

/// Where kubelet's root lies on drive C.
pub(super) const ROOT: &str = "var/lib/kubelet";

/// Whether the driver really publishes volumes.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Publishing {
    Works,
    Broken,
}

/// A node that runs.
pub(super) struct Node {
    /// The simulated node's folder.
    pub(super) folder: PathBuf,
    /// The folder of this machine that is its drive C.
    drive_c: PathBuf,
    /// The program that writes as a pod does.
    tool: PathBuf,
}

impl Node {
    /// Starts the driver, the controllers beside it, and kubelet.
    pub(super) fn start(
        running: &mut RunningCluster,
        programs: &Programs,
        plane: &Plane,
        host: Host<'_>,
        publishing: Publishing,
    ) -> Result<Self> {
        let node = Self::make(running.dir(), programs)?;
        let root = node.drive_c.join(ROOT);
        let sockets = Sockets::of(running, programs, host, &root)?;
        node.start_driver(running, programs, host, &sockets, publishing)?;
        sidecars::start(running, programs, plane, &sockets)?;
        if let Host::Wine(prefix) = host {
            wine::prepare(prefix, &root)?;
        }
        start_kubelet(running, programs, plane, host, &sockets)?;
        Ok(node)
    }

    fn make(dir: &Path, programs: &Programs) -> Result<Self> {
        let folder = dir.join("node");
        let drive_c = trial::make_node(&programs.node, &folder)?;
        let registry = drive_c.join(ROOT).join("plugins_registry");
        fs::create_dir_all(&registry).with_context(|| registry.display().to_string())?;
        Ok(Self {
            folder,
            drive_c,
            tool: programs.node.clone(),
        })
    }

    fn start_driver(
        &self,
        running: &mut RunningCluster,
        programs: &Programs,
        host: Host<'_>,
        sockets: &Sockets,
        publishing: Publishing,
    ) -> Result<()> {
        let mut driver = host.command(&programs.driver);
        driver.args(["--endpoint", &sockets.csi]);
        driver.args(["--registration", &sockets.registration]);
        driver.args(["--kubelet-endpoint", &sockets.for_kubelet]);
        driver.args(["--node", &host.path(&self.folder), "--node-id", NODE]);
        if publishing == Publishing::Broken {
            driver.arg("--broken-publish");
        }
        running.start("driver", &mut driver)?;
        running.wait_for_line("driver", trial::SERVES)
    }

    /// Where something below kubelet's root lies on this machine; no link is followed.
    pub(super) fn on_drive_c(&self, below_root: &str) -> PathBuf {
        self.drive_c.join(ROOT).join(below_root)
    }

    /// Writes a file below kubelet's root as a pod does, and answers where on the simulated disk it lies.
    pub(super) fn write_as_pod(
        &self,
        published_at: &str,
        file: &str,
        text: &str,
    ) -> Result<String> {
        let path = format!(r"{KUBELET}\{published_at}\{file}").replace('/', r"\");
        let mut command = Command::new(&self.tool);
        command.arg("write").arg(&self.folder);
        command.arg("--drive-c").arg(&self.drive_c);
        command.args([&path, text]).env("RUST_BACKTRACE", "0");
        let written = process::capture(&mut command, SHORT)?;
        let missing = || format!("the file was not found on the simulated disk: {path}");
        let place = written.success("trial-node write").with_context(missing)?;
        let place = Path::new(place.trim());
        let on_drive_c = place.starts_with(&self.drive_c);
        ensure!(!on_drive_c, "{}: it lies on drive C", missing());
        ensure!(
            fs::read_to_string(place)? == text,
            "{}: another does",
            missing()
        );
        let below = place.strip_prefix(&self.folder).with_context(missing)?;
        Ok(below.display().to_string())
    }

    /// The disk of a volume among those that are plugged in.
    pub(super) fn disk_on_the_node(&self, handle: &str) -> Result<String> {
        self.disk(&format!("disks/{handle}.toml"))
    }

    /// The disk of a volume among those that the storage keeps.
    pub(super) fn disk_off_the_node(&self, handle: &str) -> Result<String> {
        self.disk(&format!("shelf/disks/{handle}.toml"))
    }

    pub(super) fn expect_no_disk(&self, handle: &str) -> Result<()> {
        let left = self
            .disk_on_the_node(handle)
            .or(self.disk_off_the_node(handle));
        match left {
            Ok(disk) => bail!("the volume is deleted, and its disk is left: {disk}"),
            Err(_) => Ok(()),
        }
    }

    fn disk(&self, file: &str) -> Result<String> {
        ensure!(self.folder.join(file).exists(), "the node has no {file}");
        Ok(file.to_owned())
    }
}

fn start_kubelet(
    running: &mut RunningCluster,
    programs: &Programs,
    plane: &Plane,
    host: Host<'_>,
    sockets: &Sockets,
) -> Result<()> {
    let mut kubelet = host.command(&programs.kubelet);
    let config = host.path(&plane.kubeconfig);
    kubelet.args(["--name", NODE, "--kubeconfig", &config]);
    match host {
        Host::Linux => {
            kubelet.arg("--root-dir").arg(&sockets.root);
            kubelet.arg("--driver").arg(&sockets.csi_socket);
            kubelet.args(["--listen", &sockets.for_kubelet]);
            kubelet.args(["--root-on-node", KUBELET]);
            kubelet.env("TMPDIR", running.dir());
        }
        Host::Wine(_) => {
            kubelet.args(["--root-dir", KUBELET]);
        }
    }
    running.start("kubelet", &mut kubelet)
}
