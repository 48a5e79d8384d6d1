//! Where the driver serves, and where it is dialled.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::host::{self, Host};

/// Where below its root kubelet looks for drivers.
const REGISTRATION: &str = "plugins_registry/wincsi.io-reg.sock";

pub(super) struct Sockets {
    /// The driver's flags: where it serves CSI and kubelet's registration.
    pub(super) csi: String,
    pub(super) registration: String,
    /// The endpoint for kubelet.
    pub(super) for_kubelet: String,
    /// The endpoint for the controllers beside the driver: a program of its own serves there, always on Linux.
    pub(super) controller: PathBuf,
    /// That of the controller of shares, to which the other hands their calls.
    pub(super) shares: PathBuf,
    /// Kubelet's root by a short path: a socket's has 108 bytes at most, and drive C's is half of it.
    pub(super) root: PathBuf,
    /// As Wine has no socket for kubelet to find: a file, and its content.
    file: Option<(PathBuf, String)>,
}

impl Sockets {
    /// The endpoints of a host, in a folder. Wine has no Unix sockets; there the driver serves on ports.
    pub(super) fn of(dir: &Path, host: Host<'_>, root: &Path) -> Result<Self> {
        let short = dir.join("kubelet");
        symlink(root, &short).context("name kubelet's root by a short path")?;
        let registry = short.join(REGISTRATION);
        let (csi, registration, for_kubelet, file) = match host {
            Host::Linux => {
                let [csi, translator] = ["csi.sock", "translator.sock"].map(|name| dir.join(name));
                let for_kubelet = translator.display().to_string();
                (unix(&csi), unix(&registry), for_kubelet, None)
            }
            Host::Wine(_) => {
                let ports = host::free_ports()?;
                let [csi, registration] = ports.map(|port| format!("127.0.0.1:{port}"));
                let [for_csi, tcp] = [&csi, &registration].map(|at| format!("tcp://{at}"));
                (for_csi, tcp, csi, Some((registry, registration)))
            }
        };
        Ok(Self {
            csi,
            registration,
            for_kubelet,
            controller: dir.join("controller.sock"),
            shares: dir.join("shares.sock"),
            root: short,
            file,
        })
    }

    /// Removes the driver's registration socket, as when kubelet's folder is cleared.
    pub(super) fn remove_registration(&self) -> Result<()> {
        let socket = self.root.join(REGISTRATION);
        fs::remove_file(&socket).with_context(|| socket.display().to_string())
    }

    /// Makes the file of the registration's address for kubelet's program again (see `wine`), as a starting driver
    /// makes its socket again.
    pub(super) fn show_registration(&self) -> Result<()> {
        let Some((file, address)) = &self.file else {
            return Ok(());
        };
        let _ = fs::remove_file(file);
        fs::write(file, address).with_context(|| file.display().to_string())
    }
}

fn unix(socket: &Path) -> String {
    format!("unix:{}", socket.display())
}
