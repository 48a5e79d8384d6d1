//! The life of a pod with a disk, beside pods with a LUN and with shares.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Steps;
use super::api::{self, Effect};
use super::luns::LunPod;
use super::node::{DRIVER, Node};
use super::objects::{self, Objects, text};
use super::plane::Plane;
use super::running::RunningCluster;
use super::shares::SharePod;
use crate::manifests::Manifest;
use crate::trial;

/// A pod's file and its text.
pub(super) const FILE: &str = "hello.txt";
pub(super) const TEXT: &str = "written by a pod";

/// The driver's log lines of calls.
const EXPANDED: &str = "NodeExpandVolume: OK";
pub(super) const UNSTAGED: &str = "NodeUnstageVolume: OK";

/// Plays the life, on a running cluster.
pub(super) struct Life<'a> {
    pub(super) running: &'a mut RunningCluster,
    pub(super) plane: &'a Plane,
    pub(super) node: &'a Node<'a>,
    pub(super) steps: &'a Steps,
}

/// A volume provisioned for the claim.
pub(super) struct Volume {
    /// The PersistentVolume's name.
    name: String,
    /// The driver's id of it, also of its disk on the simulated node.
    handle: String,
}

/// A running pod.
struct Pod {
    volume: Volume,
    /// The driver's publish folder from kubelet, below kubelet's root.
    published_at: String,
}

/// The running pods.
pub(super) struct Pods {
    disk: Pod,
    lun: LunPod,
    shares: Vec<SharePod>,
}

impl Pods {
    /// How many volumes kubelet has staged.
    pub(super) fn staged(&self) -> usize {
        2 + self.shares.iter().filter(|pod| pod.is_staged()).count()
    }

    /// How many volumes kubelet has published.
    pub(super) fn published(&self) -> usize {
        2 + self.shares.len()
    }
}

impl Life<'_> {
    /// From an empty cluster to pods with files written on their volumes.
    pub(super) fn begin(&mut self) -> Result<Pods> {
        self.register()?;
        let objects = Objects::read("disk.yaml")?;
        let volume = self.provision(&objects)?;
        let disk = self.run_pod(&objects, volume)?;
        let place = self.write_file_at(&disk.published_at)?;
        self.done("file written", &format!("on the simulated disk: {place}"));
        let lun = self.begin_lun()?;
        let shares = self.begin_shares()?;
        Ok(Pods { disk, lun, shares })
    }

    /// From there to a node and a cluster without the volumes.
    pub(super) fn end(&mut self, pods: &Pods) -> Result<()> {
        self.clone_claim()?;
        self.snapshot_claims()?;
        self.end_shares(&pods.shares)?;
        self.fail()?;
        self.grow(pods)?;
        self.end_lun(&pods.lun)?;
        self.delete_pod(&pods.disk)?;
        self.delete_volume(&pods.disk.volume)
    }

    fn register(&mut self) -> Result<()> {
        let node = objects::node_path();
        self.wait_for(&node, |node| objects::holds(node, "Ready").then_some(()))?;
        let name = trial::NODE;
        self.done("node registered", &format!("node {name} is Ready"));
        let csi_node = objects::csi_node_path();
        self.wait_for(&csi_node, |node| objects::has_driver(node).then_some(()))?;
        let driver = objects::DRIVER;
        self.done("driver registered", &format!("CSINode {name} has {driver}"));
        Ok(())
    }

    fn provision(&mut self, objects: &Objects) -> Result<Volume> {
        objects.apply(&self.plane.api)?;
        let name = self.wait_for(objects::CLAIM, objects::bound_to)?;
        let handle = self.wait_for(&objects::volume_path(&name), |volume| {
            text(volume, "/spec/csi/volumeHandle").map(str::to_owned)
        })?;
        let disk = self.node.disk_off_the_node(&handle)?;
        self.done("PVC bound", &format!("to {name}, the disk {disk}"));
        Ok(Volume { name, handle })
    }

    fn run_pod(&mut self, objects: &Objects, volume: Volume) -> Result<Pod> {
        let pod = objects.pods.first().context("no pod")?;
        let published_at = self.begin_pod(pod, &volume.name)?;
        self.wait_for(objects::ATTACHMENTS, |list| {
            let all = objects::attachments_of(list, &volume.name);
            all.iter()
                .any(|one| one["status"]["attached"] == true)
                .then_some(())
        })?;
        let disk = self.node.disk_on_the_node(&volume.handle)?;
        self.done("attached", &format!("VolumeAttachment, and {disk}"));
        self.driver_has_done("NodeStageVolume")?;
        self.done("staged", "NodeStageVolume: OK, says the driver");
        self.wait_for(objects::POD, objects::runs)?;
        self.done(
            "pod Running",
            "its phase, all containers by a runtime that runs none",
        );
        Ok(Pod {
            volume,
            published_at,
        })
    }

    /// Applies a pod, and returns where its volume will be published, below kubelet's root.
    pub(super) fn begin_pod(&self, pod: &Manifest, volume: &str) -> Result<String> {
        let made = self.plane.api.apply(pod, &pod.text, Effect::Stored)?;
        let uid = text(&made, "/metadata/uid").context("the pod has no uid")?;
        Ok(format!(
            "pods/{uid}/volumes/kubernetes.io~csi/{volume}/mount"
        ))
    }

    /// Waits until the claims are bound, and returns their volumes' names.
    pub(super) fn wait_for_claims(&mut self, objects: &Objects) -> Result<Vec<String>> {
        let claims = objects.claims();
        claims
            .map(|claim| self.wait_for(&api::path(claim), objects::bound_to))
            .collect()
    }

    /// The proof of the driver's work: a write at the pod's path reaches the volume. Returns the place.
    pub(super) fn write_file_at(&self, published_at: &str) -> Result<String> {
        self.node.write_as_pod(published_at, FILE, TEXT)
    }

    /// The volumes are in their places, with the pods' files: returns the places.
    pub(super) fn read_files(&self, pods: &Pods) -> Result<String> {
        let read = |published_at: &str| self.node.read_as_pod(published_at, FILE, TEXT);
        let on_disk = read(&pods.disk.published_at)?;
        read(&pods.lun.published_at)?;
        self.node.expect_sessions(1)?;
        for pod in &pods.shares {
            read(&pod.published_at)?;
        }
        self.node.expect_two_mappings()?;
        Ok(format!(
            "{on_disk}, on a LUN and on {} shares",
            pods.shares.len()
        ))
    }

    fn grow(&mut self, pods: &Pods) -> Result<()> {
        let claims = [objects::CLAIM, objects::LUN_CLAIM].map(str::to_owned);
        self.grow_claims(&claims)?;
        let than = claims.len() - 1;
        self.running.wait_for_another(DRIVER, EXPANDED, than)?;
        let place = self.write_file_at(&pods.disk.published_at)?;
        self.write_file_at(&pods.lun.published_at)?;
        let (from, to) = (objects::SIZE, objects::GROWN);
        let shown_by = format!("both PVCs' capacity from {from} to {to}, {EXPANDED}, {place}");
        self.done("grown", &shown_by);
        Ok(())
    }

    pub(super) fn grow_claims(&mut self, claims: &[String]) -> Result<()> {
        let growth = json!({"spec": {"resources": {"requests": {"storage": objects::GROWN}}}});
        for claim in claims {
            self.plane.api.merge(claim, &growth)?;
        }
        let grown = Some(objects::GROWN);
        for claim in claims {
            self.wait_for(claim, |claim| {
                (text(claim, "/status/capacity/storage") == grown).then_some(())
            })?;
        }
        Ok(())
    }

    fn delete_pod(&mut self, pod: &Pod) -> Result<()> {
        let unstaged = self.running.times_printed(DRIVER, UNSTAGED)?;
        self.delete(objects::POD)?;
        self.expect_unpublished(&pod.published_at)?;
        self.done(
            "pod deleted",
            "the API has none, kubelet's folder of its volume is gone",
        );
        self.running.wait_for_another(DRIVER, UNSTAGED, unstaged)?;
        self.node.expect_no_record()?;
        let shown_by = format!("{UNSTAGED}, says the driver, and it keeps no record");
        self.done("unstaged", &shown_by);
        let volume = &pod.volume;
        self.wait_for(objects::ATTACHMENTS, |list| {
            let all = objects::attachments_of(list, &volume.name);
            all.is_empty().then_some(())
        })?;
        let disk = self.node.disk_off_the_node(&volume.handle)?;
        self.done("detached", &format!("no VolumeAttachment, and {disk}"));
        Ok(())
    }

    pub(super) fn expect_unpublished(&self, published_at: &str) -> Result<()> {
        let left = self.node.on_drive_c(published_at);
        ensure!(
            !left.exists(),
            "the pod is gone, and its volume's folder is left: {}",
            left.display()
        );
        Ok(())
    }

    fn delete_volume(&mut self, volume: &Volume) -> Result<()> {
        self.delete(objects::CLAIM)?;
        self.wait_until_gone(&objects::volume_path(&volume.name))?;
        self.node.expect_no_disk(&volume.handle)?;
        self.done(
            "PV deleted",
            "the API has neither PVC nor PV, and the disk is gone",
        );
        Ok(())
    }

    pub(super) fn driver_has_done(&mut self, call: &str) -> Result<()> {
        self.running.wait_for_line(DRIVER, &format!("{call}: OK"))
    }

    pub(super) fn wait_for<T>(
        &mut self,
        path: &str,
        ready: impl Fn(&Value) -> Option<T>,
    ) -> Result<T> {
        let api = &self.plane.api;
        self.running.wait(path, || {
            let found = api.find(path)?;
            Ok(found.and_then(|object| ready(&object)))
        })
    }

    pub(super) fn delete(&mut self, path: &str) -> Result<()> {
        self.plane.api.delete(path)?;
        self.wait_until_gone(path)
    }

    pub(super) fn wait_until_gone(&mut self, path: &str) -> Result<()> {
        let api = &self.plane.api;
        self.running.wait(&format!("no {path}"), || {
            Ok(api.find(path)?.is_none().then_some(()))
        })
    }

    pub(super) fn done(&self, step: &str, shown_by: &str) {
        self.steps.done(step, shown_by);
    }
}
