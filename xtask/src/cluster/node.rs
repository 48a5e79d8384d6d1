//! The node: a simulated one for the driver, and kubelet on top; beside it the controllers of the driver.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::objects;
use super::plane::Plane;
use super::programs::Programs;
use super::running::RunningCluster;
use super::sockets::Sockets;
use super::wine;
use crate::host::Host;
use crate::process;
use crate::samba;
use crate::server::KUBELET;
use crate::trial::{self, NODE};

const SHORT: Duration = Duration::from_secs(60);

/// Where kubelet's root lies on drive C.
pub(super) const ROOT: &str = "var/lib/kubelet";

/// The programs to end and start again.
pub(super) const DRIVER: &str = "driver";
pub(super) const KUBELET_PROGRAM: &str = "kubelet";
pub(super) const PROVISIONER: &str = "csi-provisioner";
pub(super) const SNAPSHOTTER: &str = "csi-snapshotter";
pub(super) const SHARE_CONTROLLER: &str = trial::SHARE_CONTROLLER;

/// The program whose socket the controllers of Kubernetes have.
pub(super) const CONTROLLER: &str = "controller";

/// A running node.
pub(super) struct Node<'a> {
    pub(super) name: &'static str,
    /// Its folder for what has short paths.
    pub(super) dir: PathBuf,
    /// The simulated node's folder.
    pub(super) folder: PathBuf,
    /// This machine's folder of its drive C.
    drive_c: PathBuf,
    pub(super) programs: &'a Programs,
    kubeconfig: &'a Path,
    pub(super) host: Host<'a>,
    /// Kubelet's calls to publish volumes do not come to the driver.
    broken_publish: bool,
    pub(super) sockets: Sockets,
    /// Where claims of shares get their folders.
    pub(super) samba: samba::Share,
}

impl<'a> Node<'a> {
    /// Starts the driver, the controllers beside it, and kubelet.
    pub(super) fn start(
        running: &mut RunningCluster,
        programs: &'a Programs,
        plane: &'a Plane,
        host: Host<'a>,
        broken_publish: bool,
    ) -> Result<Self> {
        let node = Self {
            broken_publish,
            ..Self::make(running, programs, plane, host, NODE)?
        };
        node.start_driver(running)?;
        node.start_share_controller(running)?;
        node.start_controller(running)?;
        node.start_sidecars(running)?;
        node.start_kubelet(running)?;
        Ok(node)
    }

    /// A node beside a Samba, without a program.
    pub(super) fn make(
        running: &RunningCluster,
        programs: &'a Programs,
        plane: &'a Plane,
        host: Host<'a>,
        name: &'static str,
    ) -> Result<Self> {
        let dir = running.dir().join(name);
        DirBuilder::new().mode(0o700).create(&dir)?;
        let folder = dir.join("node");
        let drive_c = make_node(&folder, programs, name)?;
        let root = drive_c.join(ROOT);
        if let Host::Wine(prefix) = host {
            wine::prepare(prefix, &root)?;
        }
        Ok(Self {
            name,
            samba: samba::Share::beside(&programs.trial, &folder, None)?,
            sockets: Sockets::of(&dir, host, &root)?,
            dir,
            folder,
            drive_c,
            programs,
            kubeconfig: &plane.kubeconfig,
            host,
            broken_publish: false,
        })
    }

    pub(super) fn start_driver(&self, running: &mut RunningCluster) -> Result<()> {
        let sockets = &self.sockets;
        let mut driver = trial::plugin(self.host, &self.programs.plugin, &self.folder);
        driver.arg(format!("-endpoint={}", sockets.csi));
        driver.arg(format!("-registration-endpoint={}", sockets.registration));
        driver.arg(format!("-kubelet-endpoint={}", sockets.for_kubelet));
        running.start(DRIVER, &mut driver)?;
        running.wait_for_line(DRIVER, trial::PLUGIN_SERVES)?;
        sockets.show_registration()
    }

    /// The part beside no node: the controllers lose no driver when the node's ends.
    fn start_controller(&self, running: &mut RunningCluster) -> Result<()> {
        let Sockets {
            controller, shares, ..
        } = &self.sockets;
        let mut controller = trial::controller(&self.programs.trial, &self.folder, controller);
        controller.arg(format!("--shares=unix:{}", shares.display()));
        running.start(CONTROLLER, &mut controller)?;
        running.wait_for_line(CONTROLLER, trial::CONTROLLER_SERVES)
    }

    pub(super) fn start_share_controller(&self, running: &mut RunningCluster) -> Result<()> {
        let (program, socket) = (&self.programs.share_controller, &self.sockets.shares);
        running.start(
            SHARE_CONTROLLER,
            &mut trial::share_controller(program, socket),
        )?;
        running.wait_for_line(SHARE_CONTROLLER, trial::PLUGIN_SERVES)
    }

    /// Provisioner, attacher, resizer and snapshotter.
    fn start_sidecars(&self, running: &mut RunningCluster) -> Result<()> {
        let mut names = self.programs.sidecars.iter().map(|(name, _)| *name);
        names.try_for_each(|name| self.start_sidecar(running, name))
    }

    pub(super) fn start_sidecar(&self, running: &mut RunningCluster, name: &str) -> Result<()> {
        running.start(name, &mut self.sidecar(name, &self.sockets.controller)?)
    }

    /// The command of one that calls the controller at a socket.
    pub(super) fn sidecar(&self, name: &str, socket: &Path) -> Result<Command> {
        let mut all = self.programs.sidecars.iter();
        let (_, program) = all.find(|one| one.0 == name).context("no such sidecar")?;
        let mut sidecar = Command::new(program);
        sidecar.arg(format!("--csi-address={}", socket.display()));
        sidecar.arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        match name {
            PROVISIONER => sidecar.args(["--extra-create-metadata", "--timeout=120s"]),
            // In the chart it is a minute.
            SNAPSHOTTER => sidecar.args(["--timeout=120s", "--resync-period=5s"]),
            _ => &mut sidecar,
        };
        Ok(sidecar)
    }

    pub(super) fn start_kubelet(&self, running: &mut RunningCluster) -> Result<()> {
        let mut kubelet = self.kubelet();
        if self.broken_publish {
            kubelet.arg("--broken-publish");
        }
        running.start(KUBELET_PROGRAM, &mut kubelet)
    }

    /// Kubelet's command.
    pub(super) fn kubelet(&self) -> Command {
        let (host, sockets) = (self.host, &self.sockets);
        let mut kubelet = host.command(&self.programs.kubelet);
        let config = host.path(self.kubeconfig);
        kubelet.args(["--name", self.name, "--kubeconfig", &config]);
        match host {
            Host::Linux => {
                kubelet.arg("--root-dir").arg(&sockets.root);
                let driver = sockets.csi.trim_start_matches("unix:");
                kubelet.arg(format!("--driver={}={driver}", sockets.for_kubelet));
                kubelet.args(["--root-on-node", KUBELET]);
                kubelet.env("TMPDIR", &self.dir);
            }
            Host::Wine(_) => {
                kubelet.args(["--root-dir", KUBELET]);
            }
        }
        kubelet
    }

    /// Restarts the simulated machine, open in no process, and returns its boot.
    pub(super) fn reboot(&self) -> Result<String> {
        let mut command = self.tool("reboot");
        let printed = process::capture(&mut command, SHORT)?.success("trial node reboot")?;
        Ok(printed.trim().to_owned())
    }

    /// Ends all programs, and takes the node out of the cluster.
    pub(super) fn leave(&self, running: &mut RunningCluster, plane: &Plane) -> Result<()> {
        let sidecars = self.programs.sidecars.iter().map(|(name, _)| *name);
        let others = [KUBELET_PROGRAM, DRIVER, CONTROLLER, SHARE_CONTROLLER];
        for name in sidecars.chain(others) {
            running.kill(name)?;
        }
        plane.api.delete(&objects::node_path())
    }

    /// Attaches a blank disk of this page 0x83 identifier.
    pub(super) fn attach_disk(&self, identifier: &str) -> Result<()> {
        let mut command = self.tool("attach");
        let done = process::capture(command.arg(identifier), SHORT)?;
        done.success("trial node attach").map(drop)
    }

    /// Has the node follow this script of faults; an empty one ends them.
    pub(super) fn inject(&self, faults: &str) -> Result<()> {
        fs::write(self.folder.join("faults.toml"), faults).context("write the node's faults")
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
        let path = on_node(published_at, file);
        let mut command = self.tool("write");
        command.arg("--drive-c").arg(&self.drive_c);
        command.args([&path, text]);
        self.place(&mut command, &path, text)
    }

    /// Reads a file as a pod does, and answers where on the simulated disk it lies.
    pub(super) fn read_as_pod(&self, published_at: &str, file: &str, text: &str) -> Result<String> {
        let path = on_node(published_at, file);
        let mut command = self.tool("find");
        command.arg("--drive-c").arg(&self.drive_c).arg(&path);
        self.place(&mut command, &path, text)
    }

    /// The place of a file as printed by the command, with this text on a volume other than drive C.
    fn place(&self, command: &mut Command, path: &str, text: &str) -> Result<String> {
        let done = process::capture(command, SHORT)?;
        let missing = || format!("the file was not found on the simulated disk: {path}");
        let place = done.success("trial node").with_context(missing)?;
        let place = Path::new(place.trim());
        let on_drive_c = place.starts_with(&self.drive_c);
        ensure!(!on_drive_c, "{}: it lies on drive C", missing());
        ensure!(
            fs::read_to_string(place).with_context(missing)? == text,
            "{}: another does",
            missing()
        );
        let below = place.strip_prefix(&self.folder).with_context(missing)?;
        Ok(below.display().to_string())
    }

    fn tool(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.programs.trial);
        command
            .args(["node", verb])
            .arg(&self.folder)
            .env("RUST_BACKTRACE", "0");
        command
    }

    /// A volume's disk among the plugged ones.
    pub(super) fn disk_on_the_node(&self, handle: &str) -> Result<String> {
        self.disk(&format!("disks/{handle}.toml"))
    }

    /// A volume's disk among those in the storage.
    pub(super) fn disk_off_the_node(&self, handle: &str) -> Result<String> {
        self.disk(&format!("shelf/disks/{handle}.toml"))
    }

    pub(super) fn expect_no_disk(&self, handle: &str) -> Result<()> {
        expect_none(
            self.disk_on_the_node(handle)
                .or(self.disk_off_the_node(handle)),
        )
    }

    pub(super) fn expect_no_mapping(&self) -> Result<()> {
        trial::expect_no_mapping(&self.programs.trial, &self.folder)
    }

    /// Fails unless one mapping serves all shares of each server.
    pub(super) fn expect_two_mappings(&self) -> Result<()> {
        let mapped = trial::mappings(&self.programs.trial, &self.folder)?;
        ensure!(mapped.len() == 2, "the node has other mappings: {mapped:?}");
        Ok(())
    }

    /// Fails unless the node has so many iSCSI sessions.
    pub(super) fn expect_sessions(&self, number: usize) -> Result<()> {
        let known = trial::initiator(&self.programs.trial, &self.folder)?;
        let sessions = known.iter().filter(|line| line.starts_with("session "));
        ensure!(
            sessions.count() == number,
            "the node has not {number} sessions: {known:?}"
        );
        Ok(())
    }

    pub(super) fn expect_initiator_unused(&self) -> Result<()> {
        trial::expect_initiator_unused(&self.programs.trial, &self.folder)
    }

    /// A volume's LUN at the iSCSI server.
    pub(super) fn image(&self, volume: &str) -> Result<String> {
        self.disk(&format!("iscsi/{volume}.img"))
    }

    pub(super) fn expect_no_image(&self, volume: &str) -> Result<()> {
        expect_none(self.image(volume))
    }

    /// Fails when the driver keeps a record of a volume.
    pub(super) fn expect_no_record(&self) -> Result<()> {
        trial::expect_no_record(&self.folder.join(trial::RECORDS))
    }

    fn disk(&self, file: &str) -> Result<String> {
        ensure!(self.folder.join(file).exists(), "the node has no {file}");
        Ok(file.to_owned())
    }
}

/// Makes the simulated node with a folder for registrations, and answers where its drive C lies.
fn make_node(folder: &Path, programs: &Programs, name: &str) -> Result<PathBuf> {
    let drive_c = trial::make_node(&programs.trial, folder, name)?;
    let registry = drive_c.join(ROOT).join("plugins_registry");
    fs::create_dir_all(&registry).with_context(|| registry.display().to_string())?;
    Ok(drive_c)
}

fn expect_none(disk: Result<String>) -> Result<()> {
    ensure!(disk.is_err(), "the volume is deleted, and {disk:?} is left");
    Ok(())
}

/// A file below kubelet's root as the node names it.
fn on_node(published_at: &str, file: &str) -> String {
    format!(r"{KUBELET}\{published_at}\{file}").replace('/', r"\")
}
