//! The lives of pods with shares. One mapping of the node serves all of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::life::{FILE, Life, UNSTAGED};
use super::node::DRIVER;
use super::objects::{self, Objects};
use crate::manifests::Manifest;
use crate::trial;

/// Where a pod's volume comes from: the pods of `shares.yaml`, in its order.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// The name of the pod, and of its claim.
    name: &'static str,
    shown_by: &'static str,
    /// The share's folder of the volume, if an administrator or csi-driver-smb's controller has made it.
    made: Option<&'static str>,
}

const ORIGINS: [Origin; 4] = [
    Origin {
        name: "smb-claim",
        shown_by: "Running, on the folder that its class has made",
        made: None,
    },
    Origin {
        name: "smb-static",
        shown_by: "Running, on a PV that an administrator wrote",
        made: Some(RETAINED),
    },
    Origin {
        name: "smb-provisioned",
        shown_by: "Running, on a PV as csi-driver-smb's provisioner writes it",
        made: Some("pvc-2b1dbd0c-6a4f-4d3c-9e6e-3c1a7e5d7f10"),
    },
    Origin {
        name: "smb-inline",
        shown_by: "Running, with an inline volume",
        made: None,
    },
];

/// The folder that stays when its volume is deleted.
const RETAINED: &str = "static";

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
        let share = trial::share_folder();
        let folder = self.volume.as_deref();
        folder.map_or(share.clone(), |own| {
            share.join(self.origin.made.unwrap_or(own))
        })
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
        for folder in ORIGINS.iter().filter_map(|origin| origin.made) {
            let folder = self.node.share_folder().join(folder);
            fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        }
        let objects = Objects::read("shares.yaml")?;
        objects.apply(&self.plane.api)?;
        let mut volumes = self.wait_for_claims(&objects)?.into_iter();
        let pods = ORIGINS.iter().zip(&objects.pods);
        let pods = pods.map(|(origin, pod)| self.start_share_pod(*origin, pod, volumes.next()));
        let pods: Vec<_> = pods.collect::<Result<_>>()?;
        for pod in &pods {
            self.use_share_pod(pod)?;
        }
        self.node.expect_one_mapping()?;
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

    /// Ends the pods and their volumes: no mapping is left, and no folder but the retained volume's.
    pub(super) fn end_shares(&mut self, pods: &[SharePod]) -> Result<()> {
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
            let has_password = String::from_utf8_lossy(&printed).contains(trial::PASSWORD);
            ensure!(!has_password, "{} has the password", log.display());
        }
        Ok(())
    }

    fn delete_share_volumes(&mut self, pods: &[SharePod]) -> Result<()> {
        for pod in pods {
            let Some(volume) = &pod.volume else {
                continue;
            };
            self.plane.api.delete(&pod.claim_path())?;
            self.wait_until_gone(&pod.claim_path())?;
            let path = objects::volume_path(volume);
            if pod.origin.made == Some(RETAINED) {
                self.plane.api.delete(&path)?;
            }
            self.wait_until_gone(&path)?;
        }
        let left = fs::read_dir(self.node.share_folder()).context("read the share")?;
        let left = left.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut left: Vec<_> = left.collect();
        left.sort();
        ensure!(left == [FILE, RETAINED], "the share has {left:?}");
        let left = left.join(" and ");
        let shown_by = format!("the API has neither PVC nor PV, the share has {left}");
        self.done("smb PVs deleted", &shown_by);
        Ok(())
    }
}
