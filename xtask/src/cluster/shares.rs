//! The lives of pods with shares, of two servers: a simulated one, and a Samba in whose folders of claims the node finds
//! the same files. One mapping of the node serves all pods of a server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::life::{FILE, Life, UNSTAGED};
use super::node::{CONTROLLER, DRIVER, SHARE_CONTROLLER};
use super::objects::{self, Objects};
use crate::manifests::Manifest;
use crate::{samba, trial};

/// Where a pod's volume comes from: the pods of `shares.yaml`, in its order.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// The name of the pod, and of its claim.
    name: &'static str,
    shown_by: &'static str,
    /// Where among the servers' folders its files are: the volume's name is where `PV` is.
    folder: &'static str,
    maker: Maker,
}

/// Who makes a folder, if it is not the share's own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Maker {
    /// Ours, for a claim.
    Controller,
    /// An administrator, or csi-driver-smb's controller.
    Another,
}

const ORIGINS: [Origin; 6] = [
    Origin {
        name: "smb-delete",
        shown_by: "Running, on the folder that its claim got",
        folder: "127.0.0.1/encrypted/PV",
        maker: Maker::Controller,
    },
    Origin {
        name: "smb-retain",
        shown_by: "Running, on a folder that its class names and retains",
        folder: "127.0.0.1/encrypted/default-smb-retain",
        maker: Maker::Controller,
    },
    Origin {
        name: "smb-archive",
        shown_by: "Running, on a folder that its class will archive",
        folder: "127.0.0.1/encrypted/smb-archive",
        maker: Maker::Controller,
    },
    Origin {
        name: "smb-static",
        shown_by: "Running, on a PV that an administrator wrote",
        folder: "files.example.com/data/static",
        maker: Maker::Another,
    },
    Origin {
        name: "smb-provisioned",
        shown_by: "Running, on a PV as csi-driver-smb's provisioner writes it",
        folder: "127.0.0.1/encrypted/pvc-2b1dbd0c-6a4f-4d3c-9e6e-3c1a7e5d7f10",
        maker: Maker::Another,
    },
    Origin {
        name: "smb-inline",
        shown_by: "Running, with an inline volume",
        folder: "files.example.com/data",
        maker: Maker::Another,
    },
];

/// What is left of them on Samba at the end, each with its pod's file.
const LEFT: [&str; 2] = ["archived-smb-archive", "default-smb-retain"];

/// The PV that no provisioner deletes.
const RETAINED: &str = "pv-smb";

/// The name of an inline volume in its pod.
const INLINE: &str = "data";

/// A running pod with a share.
pub(super) struct SharePod {
    origin: Origin,
    /// The PersistentVolume's name; an inline volume has none.
    volume: Option<String>,
    /// The driver's publish folder from kubelet, below kubelet's root.
    pub(super) published_at: String,
}

impl SharePod {
    /// Whether kubelet stages the volume before it publishes it.
    pub(super) fn is_staged(&self) -> bool {
        self.volume.is_some()
    }

    /// Where its share, or its folder of the share, lies in the node's folder.
    fn folder(&self) -> PathBuf {
        let volume = self.volume.as_deref().unwrap_or(INLINE);
        Path::new("smb").join(self.origin.folder.replace("PV", volume))
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/default/pods/{}", self.origin.name)
    }

    fn claim_path(&self) -> String {
        let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
        format!("{claims}/{}", self.origin.name)
    }
}

impl Life<'_> {
    /// From a node without a mapping to pods with files on shares.
    pub(super) fn begin_shares(&mut self) -> Result<Vec<SharePod>> {
        self.node.expect_no_mapping()?;
        let of_others = |origin: &&Origin| origin.maker == Maker::Another;
        for Origin { folder, .. } in ORIGINS.iter().filter(of_others) {
            let folder = self.node.folder.join("smb").join(folder);
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let port = self.node.samba.option();
        let values = [("SAMBA_USER", &*samba::user()), ("SAMBA_PORT", &port)];
        let objects = Objects::read("shares.yaml")?.with(&values)?;
        objects.apply(&self.plane.api)?;
        let mut volumes = self.wait_for_claims(&objects)?.into_iter();
        let pods = ORIGINS.iter().zip(&objects.pods);
        let pods = pods.map(|(origin, pod)| self.start_share_pod(*origin, pod, volumes.next()));
        let pods: Vec<_> = pods.collect::<Result<_>>()?;
        for pod in &pods {
            self.use_share_pod(pod)?;
        }
        self.node.expect_two_mappings()?;
        Ok(pods)
    }

    fn start_share_pod(
        &self,
        origin: Origin,
        pod: &Manifest,
        volume: Option<String>,
    ) -> Result<SharePod> {
        ensure!(pod.name() == origin.name, "shares.yaml has {}", pod.name());
        Ok(SharePod {
            published_at: self.begin_pod(pod, volume.as_deref().unwrap_or(INLINE))?,
            volume,
            origin,
        })
    }

    /// Writes a file as the pod does; it has to reach the server.
    fn use_share_pod(&mut self, pod: &SharePod) -> Result<()> {
        self.wait_for(&pod.path(), objects::runs)?;
        let place = self.write_file_at(&pod.published_at)?;
        let expected = pod.folder().join(FILE);
        ensure!(
            Path::new(&place) == expected,
            "the file lies at {place}, not at {}",
            expected.display()
        );
        let Origin { name, shown_by, .. } = pod.origin;
        self.done(name, &format!("{shown_by}; {place}"));
        Ok(())
    }

    /// Ends the pods and their volumes: no mapping is left, and no folder but those that their classes leave.
    pub(super) fn end_shares(&mut self, pods: &[SharePod]) -> Result<()> {
        let of_ours = pods
            .iter()
            .filter(|pod| pod.origin.maker == Maker::Controller);
        let claims: Vec<_> = of_ours.map(SharePod::claim_path).collect();
        self.grow_claims(&claims)?;
        self.done("smb claims grown", "three PVCs' capacity, and nothing else");
        let unstaged = self.running.times_printed(DRIVER, UNSTAGED)?;
        for pod in pods {
            self.plane.api.delete(&pod.path())?;
        }
        for pod in pods {
            self.wait_until_gone(&pod.path())?;
            self.expect_unpublished(&pod.published_at)?;
        }
        let staged = pods.iter().filter(|pod| pod.is_staged()).count();
        let than = unstaged + staged - 1;
        self.running.wait_for_another(DRIVER, UNSTAGED, than)?;
        self.node.expect_no_mapping()?;
        self.expect_no_password()?;
        let shown_by =
            format!("{UNSTAGED} {staged} times, the node has no mapping, no log has the password");
        self.done("smb pods deleted", &shown_by);
        self.delete_share_volumes(pods)
    }

    /// Reads all programs' logs, Kubernetes' own too.
    pub(super) fn expect_no_password(&self) -> Result<()> {
        for log in fs::read_dir(self.running.logs()).context("read the logs")? {
            let log = log?.path();
            let printed = fs::read(&log).with_context(|| log.display().to_string())?;
            let printed = String::from_utf8_lossy(&printed);
            let passwords = [trial::PASSWORD, samba::PASSWORD];
            let has_one = passwords.iter().any(|password| printed.contains(password));
            ensure!(!has_one, "{} has the password", log.display());
        }
        Ok(())
    }

    /// Waits until Samba has these volumes' folders, and nothing of a controller: csi-provisioner may delete a volume
    /// once more when it is gone, and has a lock meanwhile.
    pub(super) fn wait_until_left(&mut self, volumes: &[&str], in_each: &[&str]) -> Result<()> {
        let samba = &self.node.samba;
        let left = || samba.expect_left(volumes, in_each);
        let waited = self
            .running
            .wait("Samba has what is left", || Ok(left().ok()));
        left().and(waited)
    }

    /// The controller is killed before, and comes back when a delete has missed it.
    fn delete_share_volumes(&mut self, pods: &[SharePod]) -> Result<()> {
        const MISSED: &str = "DeleteVolume: Unavailable";
        self.running.kill(SHARE_CONTROLLER)?;
        for pod in pods.iter().filter(|pod| pod.is_staged()) {
            self.plane.api.delete(&pod.claim_path())?;
        }
        self.running.wait_for_line(CONTROLLER, MISSED)?;
        self.node.start_share_controller(self.running)?;
        for pod in pods {
            let Some(volume) = &pod.volume else {
                continue;
            };
            self.wait_until_gone(&pod.claim_path())?;
            let path = objects::volume_path(volume);
            if volume == RETAINED {
                self.plane.api.delete(&path)?;
            }
            self.wait_until_gone(&path)?;
        }
        self.wait_until_left(&LEFT, &[FILE])?;
        let left = LEFT.join(" and ");
        let shown_by = format!(
            "the controller was killed, and another deleted; the API has neither PVC nor PV; \
             Samba has {left}, no record and no lock"
        );
        self.done("smb PVs deleted", &shown_by);
        Ok(())
    }
}
