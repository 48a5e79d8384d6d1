//! Where the driver serves, and where it is dialled.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::plane::free_ports;
use super::programs::Programs;
use super::running::RunningCluster;
use crate::host::Host;

/// Where below its root kubelet looks for drivers.
const REGISTRATION: &str = "plugins_registry/trial.sock";

pub(super) struct Sockets {
    /// The driver's flags: where it serves CSI and kubelet's registration.
    pub(super) csi: String,
    pub(super) registration: String,
    /// What kubelet is told to dial.
    pub(super) for_kubelet: String,
    /// What the controllers beside the driver dial.
    pub(super) csi_socket: PathBuf,
    /// Kubelet's root by a short path: that of a socket has 108 bytes at most, and drive C's is half of it.
    pub(super) root: PathBuf,
}

impl Sockets {
    /// Those of a host. Wine has no Unix sockets; there the driver serves on ports.
    pub(super) fn of(
        running: &mut RunningCluster,
        programs: &Programs,
        host: Host<'_>,
        root: &Path,
    ) -> Result<Self> {
        let short = running.dir().join("kubelet");
        symlink(root, &short).context("name kubelet's root by a short path")?;
        match host {
            Host::Linux => Ok(Self::unix(running.dir(), short)),
            Host::Wine(_) => Self::tcp(running, programs, short),
        }
    }

    fn unix(dir: &Path, root: PathBuf) -> Self {
        let csi_socket = dir.join("csi.sock");
        Self {
            csi: format!("unix:{}", csi_socket.display()),
            registration: format!("unix:{}", root.join(REGISTRATION).display()),
            for_kubelet: dir.join("translator.sock").display().to_string(),
            csi_socket,
            root,
        }
    }

    /// The controllers dial a Unix socket all the same: they end when they lose their driver, and can tell of such
    /// sockets alone. Kubelet's program reads from a file where its registration is, see `wine`.
    fn tcp(running: &mut RunningCluster, programs: &Programs, root: PathBuf) -> Result<Self> {
        let [csi, registration] = free_ports()?.map(|port| format!("127.0.0.1:{port}"));
        let csi_socket = running.dir().join("csi.sock");
        let mut socat = Command::new(&programs.socat);
        socat.arg(format!("UNIX-LISTEN:{},fork", csi_socket.display()));
        socat.arg(format!("TCP:{csi}"));
        running.start("socat", &mut socat)?;
        let file = root.join(REGISTRATION);
        fs::write(&file, &registration).with_context(|| file.display().to_string())?;
        Ok(Self {
            csi: format!("tcp://{csi}"),
            registration: format!("tcp://{registration}"),
            for_kubelet: csi,
            csi_socket,
            root,
        })
    }
}
