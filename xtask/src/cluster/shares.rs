//! The lives of pods with shares. One mapping of the node serves all of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::life::{FILE, Life, UNSTAGED, bound_to};
use super::node::DRIVER;
use super::objects::{self, text};
use super::share_objects::{self, Given, Origin};
use crate::trial;

/// A running pod with a share.
pub(super) struct SharePod {
    origin: Origin,
    /// The PersistentVolume's name.
    volume: Option<String>,
    /// The driver's publish folder from kubelet, below kubelet's root.
    pub(super) published_at: String,
}

impl SharePod {
    pub(super) fn is_staged(&self) -> bool {
        self.origin.is_staged()
    }

    /// Where its share, or its folder of the share, lies in the node's folder.
    fn folder(&self) -> PathBuf {
        let share = trial::share_folder();
        match &self.volume {
            Some(volume) => share.join(self.origin.folder(volume)),
            None => share,
        }
    }

    fn path(&self) -> String {
        format!("{}/{}", objects::PODS, self.origin.name())
    }
}

impl Life<'_> {
    /// From a node without a mapping to pods with files on shares.
    pub(super) fn begin_shares(&mut self) -> Result<Vec<SharePod>> {
        self.node.expect_no_mapping()?;
        let api = &self.plane.api;
        api.create(share_objects::SECRETS, &share_objects::secret())?;
        api.create(objects::CLASSES, &share_objects::class())?;
        for origin in Origin::ALL {
            self.ask_for(origin)?;
        }
        let pods = Origin::ALL.map(|origin| self.start_share_pod(origin));
        let pods: Vec<_> = pods.into_iter().collect::<Result<_>>()?;
        for pod in &pods {
            self.use_share_pod(pod)?;
        }
        self.node.expect_one_mapping()?;
        Ok(pods)
    }

    /// Requests all objects that the pod needs.
    fn ask_for(&self, origin: Origin) -> Result<()> {
        if let Some(volume) = origin.volume() {
            self.give(&volume)?;
        }
        if origin.is_staged() {
            let api = &self.plane.api;
            api.create(objects::CLAIMS, &share_objects::claim(origin))?;
        }
        Ok(())
    }

    fn start_share_pod(&mut self, origin: Origin) -> Result<SharePod> {
        let volume = match origin.is_staged() {
            true => Some(self.wait_for(&claim_path(origin), bound_to)?),
            false => None,
        };
        let api = &self.plane.api;
        let made = api.create(objects::PODS, &share_objects::pod(origin))?;
        let uid = text(&made, "/metadata/uid").context("the pod has no uid")?;
        let name = volume.as_deref().unwrap_or(objects::DATA);
        Ok(SharePod {
            published_at: format!("pods/{uid}/volumes/kubernetes.io~csi/{name}/mount"),
            volume,
            origin,
        })
    }

    /// Writes a file as the pod does; it has to reach the server.
    fn use_share_pod(&mut self, pod: &SharePod) -> Result<()> {
        self.wait_for(&pod.path(), |pod| {
            (text(pod, "/status/phase") == Some("Running")).then_some(())
        })?;
        let place = self.write_file_at(&pod.published_at)?;
        let expected = pod.folder().join(FILE);
        ensure!(
            Path::new(&place) == expected,
            "the file lies at {place}, not at {}",
            expected.display()
        );
        self.done(
            pod.origin.name(),
            &format!("{}; {place}", pod.origin.shown_by()),
        );
        Ok(())
    }

    /// Puts a volume there as an administrator or csi-driver-smb's controller does, with its folder.
    fn give(&self, volume: &Given) -> Result<()> {
        let folder = self.node.share_folder().join(volume.folder);
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let api = &self.plane.api;
        api.create(share_objects::VOLUMES, &volume.object())?;
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
            let claim = claim_path(pod.origin);
            self.plane.api.delete(&claim)?;
            self.wait_until_gone(&claim)?;
            let path = objects::volume_path(volume);
            if pod.origin == Origin::Static {
                self.plane.api.delete(&path)?;
            }
            self.wait_until_gone(&path)?;
        }
        let left = fs::read_dir(self.node.share_folder()).context("read the share")?;
        let left = left.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut left: Vec<_> = left.collect();
        left.sort();
        ensure!(left == [FILE, "static"], "the share has {left:?}");
        let shown_by = format!(
            "the API has neither PVC nor PV, the share has {}",
            left.join(" and ")
        );
        self.done("smb PVs deleted", &shown_by);
        Ok(())
    }
}

fn claim_path(origin: Origin) -> String {
    format!("{}/{}", objects::CLAIMS, origin.name())
}
