//! VolumeSnapshots: taken while the controller is killed, restored, deleted before and after their volumes and while they
//! are copied, and given by their ids.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::Steps;
use super::api::{self, Effect};
use super::clone::{self, FILES, expect_same, half};
use super::install::Installation;
use super::life::{FILE, Life, TEXT, UNSTAGED};
use super::node::{DRIVER, SHARE_CONTROLLER};
use super::objects::{self, Objects, text};
use super::plane::Plane;
use super::programs::Programs;
use super::running::RunningCluster;
use crate::{manifests, trial};

const GROUP: &str = "/apis/snapshot.storage.k8s.io/v1";
const KINDS: [&str; 3] = [
    "volumesnapshotclasses",
    "volumesnapshotcontents",
    "volumesnapshots",
];

/// The program of the whole cluster, and one of its CRDs.
const CONTROLLER: &str = "snapshot-controller";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/\
    volumesnapshotcontents.snapshot.storage.k8s.io";

/// What csi-snapshotter says of an id that no list has.
const NOT_FOUND: &str = "can not find snapshot";

/// The first play's claim, and its classes.
const SOURCE: &str = "smb-delete";
const CLASS: &str = "smb";
const STORAGE_CLASS: &str = "smb-delete";

/// A snapshot that is whole.
pub(super) struct Snapshot {
    name: String,
    /// Of the VolumeSnapshot and its VolumeSnapshotContent.
    paths: [String; 2],
    handle: String,
    /// Where its files are.
    folder: PathBuf,
}

/// A running pod with a claim that was restored.
struct RestoredPod {
    objects: Objects,
    /// The PersistentVolume's name.
    volume: String,
    published_at: String,
}

/// Has the cluster know snapshots, as administrators do once for all drivers.
pub(super) fn install(
    running: &mut RunningCluster,
    programs: &Programs,
    plane: &Plane,
    steps: &Steps,
) -> Result<()> {
    for kind in KINDS {
        let file = format!("snapshot.storage.k8s.io_{kind}.yaml");
        let file = programs.snapshot_crds.join(file);
        for one in manifests::read(&file.to_string_lossy())? {
            plane.api.apply(&one, &one.text, Effect::Stored)?;
        }
        running.wait(kind, || Ok(is_listed(plane, kind)?.then_some(())))?;
    }
    let mut controller = Command::new(&programs.snapshot_controller);
    controller.arg(format!("--kubeconfig={}", plane.kubeconfig.display()));
    running.start(CONTROLLER, &mut controller)?;
    steps.done("snapshots known", "three CRDs, and snapshot-controller");
    Ok(())
}

/// A snapshot by its id.
fn given(name: &str, handle: &str) -> Result<Objects> {
    Objects::read("given.yaml")?.with(&[("SNAPSHOT", name), ("HANDLE", handle)])
}

fn place(kind: &str) -> String {
    format!("{GROUP}/{kind}")
}

/// Whether the API server tells Helm and clients of the kind: some time after its CRD came, or went.
fn is_listed(plane: &Plane, kind: &str) -> Result<bool> {
    let group = plane.api.find(GROUP)?.unwrap_or_default();
    let kinds = group["resources"].as_array();
    Ok(kinds.is_some_and(|kinds| kinds.iter().any(|one| one["name"] == kind)))
}

impl Installation<'_> {
    /// Without the CRDs the chart is refused before it changes anything.
    pub(super) fn refuse_snapshots(&mut self) -> Result<()> {
        self.life.running.kill(CONTROLLER)?;
        let life = &mut self.life;
        life.delete(CRD)?;
        let is_gone = || Ok((!is_listed(life.plane, KINDS[1])?).then_some(()));
        life.running.wait("no VolumeSnapshotContent", is_gone)?;
        let values = json!({
            "node": {"enabled": false},
            "controller": {"enabled": true, "enableSnapshotter": true},
        });
        let error = self.helm(0, &["install", "snapshots"], Some(&values)).err();
        let error = error.map_or(String::new(), |error| format!("{error:#}"));
        let is_refused = error.contains("the cluster has no VolumeSnapshotContent");
        ensure!(is_refused, "without the CRDs: {error:?}");
        let shown_by = "without one of the CRDs the chart is refused";
        self.life.done("no snapshots", shown_by);
        let life = &mut self.life;
        install(life.running, life.node.programs, life.plane, life.steps)
    }

    /// The sidecars of the controller's pod take a snapshot of its claim, and restore it.
    pub(super) fn use_snapshot(&mut self) -> Result<()> {
        let path = self.life.begin_snapshot("share", "share", "share")?;
        let snapshot = self.life.wait_for_snapshot(&path)?;
        let (objects, volume) = self.life.restore(&snapshot, "restored", "share")?;
        self.life.delete_snapshot(&snapshot)?;
        self.life.delete_claims(&objects, &volume)?;
        let shown_by = format!("{}, restored as {volume}; both deleted", snapshot.handle);
        self.life.done("share snapshot", &shown_by);
        Ok(())
    }
}

impl Life<'_> {
    /// Plays them on the claim that was cloned, with its many files.
    pub(super) fn snapshot_claims(&mut self) -> Result<()> {
        let first = self.take_first()?;
        let pod = self.restore_in_pod(&first)?;
        self.delete_before_its_volume(&first, &pod)?;
        let second = self.outlive_source(pod)?;
        self.give_ids(&second)?;
        self.delete_snapshot(&second)?;
        self.delete_while_copied()
    }

    /// The controller is killed while it copies: there is no handle before its successor has ended the copy.
    fn take_first(&mut self) -> Result<Snapshot> {
        let share = self.node.samba.root();
        let path = self.begin_snapshot("smb-first", SOURCE, CLASS)?;
        self.wait_for_half()?;
        self.running.kill(SHARE_CONTROLLER)?;
        let copied = half(&share).context("it was whole before its controller was killed")?;
        let content = self.content(&path)?;
        let handle = self.wait_for(&content, |content| {
            text(content, "/status/error/message")?;
            Some(content["status"]["snapshotHandle"].clone())
        })?;
        ensure!(handle.is_null(), "half a snapshot has the handle {handle}");
        self.node.start_share_controller(self.running)?;
        let first = self.wait_for_snapshot(&path)?;
        let volume = self.wait_for(clone::SOURCE, objects::bound_to)?;
        expect_same(&share.join(volume), &first.folder)?;
        let shown_by = format!(
            "the controller was killed at {copied} of {FILES} files: no handle yet; then {}, with \
             the claim's names and bytes",
            first.handle
        );
        self.done("snapshot taken", &shown_by);
        Ok(first)
    }

    fn restore_in_pod(&mut self, snapshot: &Snapshot) -> Result<RestoredPod> {
        let (objects, volume) = self.restore(snapshot, "smb-restored", STORAGE_CLASS)?;
        let pod = objects.pods.first().context("no pod")?;
        let published_at = self.begin_pod(pod, &volume)?;
        self.wait_for(&api::path(pod), objects::runs)?;
        let place = self.node.read_as_pod(&published_at, FILE, TEXT)?;
        let shown_by = format!("a claim with its names and bytes; a second pod reads {place}");
        self.done("snapshot restored", &shown_by);
        Ok(RestoredPod {
            objects,
            volume,
            published_at,
        })
    }

    fn delete_before_its_volume(&mut self, snapshot: &Snapshot, pod: &RestoredPod) -> Result<()> {
        self.delete_snapshot(snapshot)?;
        let place = self.node.read_as_pod(&pod.published_at, FILE, TEXT)?;
        let shown_by = format!("VolumeSnapshot, content and files are gone; {place} is there");
        self.done("snapshot deleted", &shown_by);
        Ok(())
    }

    /// The restored claim has a snapshot too, and goes before it.
    fn outlive_source(&mut self, source: RestoredPod) -> Result<Snapshot> {
        let path = self.begin_snapshot("smb-second", "smb-restored", CLASS)?;
        let second = self.wait_for_snapshot(&path)?;
        let unstaged = self.running.times_printed(DRIVER, UNSTAGED)?;
        let (objects, volume) = (source.objects, source.volume);
        for path in objects.paths() {
            self.delete(&path)?;
        }
        self.running.wait_for_another(DRIVER, UNSTAGED, unstaged)?;
        self.wait_until_gone(&objects::volume_path(&volume))?;
        let share = self.node.samba.root();
        ensure!(!share.join(&volume).exists(), "the source's folder is left");
        let (again, volume) = self.restore(&second, "smb-again", STORAGE_CLASS)?;
        let original = self.wait_for(clone::SOURCE, objects::bound_to)?;
        expect_same(&share.join(original), &share.join(&volume))?;
        self.delete_claims(&again, &volume)?;
        let shown_by = "a snapshot of the restored claim outlives it, and is restored again";
        self.done("source deleted", shown_by);
        Ok(second)
    }

    /// As administrators write them: an id that is there, and one that is gone.
    fn give_ids(&mut self, snapshot: &Snapshot) -> Result<()> {
        let handle = &snapshot.handle;
        let known = given("smb-known", handle)?;
        let gone = given("smb-gone", &format!("{handle}-gone"))?;
        for objects in [&known, &gone] {
            objects.apply(&self.plane.api)?;
        }
        let [known_path, gone_path] = [&known, &gone].map(|objects| objects.paths().remove(0));
        self.wait_for_snapshot(&known_path)?;
        let error = self.wait_for(&gone_path, |snapshot| {
            text(snapshot, "/status/error/message").map(str::to_owned)
        })?;
        let is = self.plane.api.find(&gone_path)?.context("no snapshot")?;
        ensure!(is["status"]["readyToUse"] != true, "{is} is ready");
        ensure!(error.contains(NOT_FOUND), "another error: {error}");
        for path in [known.paths(), gone.paths()].concat() {
            self.delete(&path)?;
        }
        let has_files = snapshot.folder.is_dir();
        ensure!(has_files, "a content that retains has deleted the files");
        let shown_by = format!("a known one is ready; of one that is gone: {NOT_FOUND}");
        self.done("ids given", &shown_by);
        Ok(())
    }

    /// It goes once it is whole, at csi-snapshotter's next resync.
    fn delete_while_copied(&mut self) -> Result<()> {
        let share = self.node.samba.root();
        let path = self.begin_snapshot("smb-brief", SOURCE, CLASS)?;
        let content = self.content(&path)?;
        self.wait_for_half()?;
        self.plane.api.delete(&path)?;
        let copied = half(&share).context("it was whole before it was deleted")?;
        self.wait_until_gone(&path)?;
        self.wait_until_gone(&content)?;
        self.wait_for_no_snapshot()?;
        let shown_by = format!("at {copied} of {FILES} files; nothing is left in .wincsi");
        self.done("deleted early", &shown_by);
        Ok(())
    }

    /// Waits until Samba has no file of one: a repeated delete has a lock meanwhile.
    fn wait_for_no_snapshot(&mut self) -> Result<()> {
        let records = self.node.samba.root().join(".wincsi");
        let folders = ["clones", "deleted", "snapshots"].map(|name| records.join(name));
        self.running.wait("nothing is left of snapshots", || {
            let mut left = trial::names(&records)?;
            left.retain(|name| name.starts_with("snapshot-"));
            for folder in &folders {
                left.extend(trial::names(folder)?);
            }
            Ok(left.is_empty().then_some(()))
        })
    }

    /// Makes a claim from a snapshot, and compares their files.
    pub(super) fn restore(
        &mut self,
        snapshot: &Snapshot,
        claim: &str,
        class: &str,
    ) -> Result<(Objects, String)> {
        let values = [
            ("SNAPSHOT", &*snapshot.name),
            ("CLAIM", claim),
            ("CLASS", class),
        ];
        let objects = Objects::read("restored.yaml")?.with(&values)?;
        objects.apply(&self.plane.api)?;
        let volume = self.wait_for_claims(&objects)?.remove(0);
        let folder = self.node.samba.root().join(&volume);
        expect_same(&snapshot.folder, &folder)?;
        Ok((objects, volume))
    }

    fn delete_claims(&mut self, objects: &Objects, volume: &str) -> Result<()> {
        for claim in objects.claims() {
            self.delete(&api::path(claim))?;
        }
        self.wait_until_gone(&objects::volume_path(volume))
    }

    /// Applies a snapshot of a claim, and returns its place.
    pub(super) fn begin_snapshot(&self, name: &str, claim: &str, class: &str) -> Result<String> {
        let values = [("SNAPSHOT", name), ("CLAIM", claim), ("CLASS", class)];
        let objects = Objects::read("snapshot.yaml")?.with(&values)?;
        objects.apply(&self.plane.api)?;
        objects.paths().pop().context("no VolumeSnapshot")
    }

    /// Waits until it is ready.
    pub(super) fn wait_for_snapshot(&mut self, path: &str) -> Result<Snapshot> {
        let content = self.content(path)?;
        let size = self.wait_for(path, |snapshot| {
            let is_ready = snapshot["status"]["readyToUse"] == true;
            is_ready.then(|| snapshot["status"]["restoreSize"].clone())
        })?;
        ensure!(size == objects::SIZE, "its size is {size}");
        let is = self.plane.api.find(&content)?.context("no content")?;
        let handle = text(&is, "/status/snapshotHandle").context("no handle")?;
        let (base, name) = handle.rsplit_once('#').context("another handle")?;
        ensure!(base == "snapshot#127.0.0.1/encrypted", "{handle}");
        let snapshots = self.node.samba.root().join(".wincsi/snapshots");
        Ok(Snapshot {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            paths: [path.to_owned(), content],
            handle: handle.to_owned(),
            folder: snapshots.join(name),
        })
    }

    /// The place of the VolumeSnapshotContent of a snapshot.
    fn content(&mut self, path: &str) -> Result<String> {
        let name = self.wait_for(path, |snapshot| {
            text(snapshot, "/status/boundVolumeSnapshotContentName").map(str::to_owned)
        })?;
        Ok(format!("{}/{name}", place("volumesnapshotcontents")))
    }

    /// Deletes it, and its files with it.
    pub(super) fn delete_snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        let [path, content] = &snapshot.paths;
        self.delete(path)?;
        self.wait_until_gone(content)?;
        let folder = &snapshot.folder;
        ensure!(!folder.exists(), "{} is left", folder.display());
        Ok(())
    }
}
