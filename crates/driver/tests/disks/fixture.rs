//! A simulated node with a disk, and a driver on it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use wincsi::disks::DiskQuery;
use wincsi::sim::{
    Bus, ClockMode, Content, DiskSpec, Effect, IdentifierKind, NodeSpec, Rule, SimNode,
};
use wincsi::{Condition, Deadline, Node, NodeApi, Options, Win32, WinPath};
use wincsi_driver::disk::{
    DiskVolumes, ExpandError, Kubelet, Publish, PublishError, Reconciliation, Stage, StageError,
    Stats, StatsError, UnpublishError, UnstageError,
};
use wincsi_driver::machine::Simulated;
use wincsi_driver::record::{Access, Choice, Format, Store, Targets, VolumeHandle, Wanted};

pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const STAGING: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\1\globalmount";
pub(crate) const TARGET: &str = r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~csi\pv\mount";

pub(crate) const VOLUME: &str = "vol-1";
const DRIVER: &str = "d";
const IDENTIFIER: &str = "60022480aabbccddeeff001122334455";
const DISK: &str = "data";

pub(crate) struct Fixture {
    home: TempDir,
    sim: SimNode,
    node: Arc<Node>,
    volumes: DiskVolumes,
    wanted: Wanted,
}

impl Fixture {
    /// A blank disk of 2 GiB.
    pub(crate) fn new() -> Self {
        Self::with_content(|_| {})
    }

    /// A disk with this at its beginning.
    pub(crate) fn with_content(write: impl FnOnce(&mut [u8])) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("node");
        let sim = SimNode::create(&folder, &NodeSpec::named("n"), ClockMode::Virtual).unwrap();
        let disk = DiskSpec::on(Bus::Sas).lun(1);
        let disk = disk.identified(IdentifierKind::Naa, IDENTIFIER);
        let hardware = sim.hardware();
        hardware
            .attach_disk(DISK, &disk, &Content::blank(2 * GIB))
            .unwrap();
        let mut beginning = vec![0; 4096];
        write(&mut beginning);
        hardware.write_disk(DISK, 0, &beginning).unwrap();
        let node = Arc::new(Node::new(sim.os(), Options::default()));
        let volumes = driver(&home, &sim, &node);
        let wanted = Wanted {
            format: Format::default(),
            access: Access::ReadWrite,
            targets: Targets::Many,
        };
        Self {
            home,
            sim,
            node,
            volumes,
            wanted,
        }
    }

    pub(crate) fn of_one_target() -> Self {
        let mut fixture = Self::new();
        fixture.wanted.targets = Targets::One;
        fixture
    }

    pub(crate) fn for_readers(mut self, access: Access) -> Self {
        self.wanted.access = access;
        self
    }

    pub(crate) fn formatted_with(mut self, choice: Choice) -> Self {
        self.wanted.format = Format::of(choice).unwrap();
        self
    }

    /// Another volume on the same disk, as a second PV that names it.
    pub(crate) fn stage_other(&self, staging: &str) -> Result<(), StageError> {
        self.volumes.stage(&Stage {
            volume: VolumeHandle::parse("vol-2").unwrap(),
            staging: path(staging),
            disk: query(),
            wanted: self.wanted.clone(),
        })
    }

    pub(crate) fn stage(&self) -> Result<(), StageError> {
        self.volumes.stage(&Stage {
            volume: volume(),
            staging: path(STAGING),
            disk: query(),
            wanted: self.wanted.clone(),
        })
    }

    pub(crate) fn unstage(&self) -> Result<(), UnstageError> {
        self.volumes.unstage(&volume(), &path(STAGING))
    }

    pub(crate) fn publish(&self, target: &str) -> Result<(), PublishError> {
        self.volumes.publish(&Publish {
            volume: volume(),
            staging: path(STAGING),
            target: path(target),
            targets: self.wanted.targets,
        })
    }

    pub(crate) fn unpublish(&self, target: &str) -> Result<(), UnpublishError> {
        self.volumes.unpublish(&volume(), &path(target))
    }

    pub(crate) fn stats(&self, at: &str) -> Result<Stats, StatsError> {
        self.volumes.stats(&volume(), at)
    }

    pub(crate) fn expand(&self, at: &str, wanted: u64) -> Result<u64, ExpandError> {
        self.volumes.expand(&volume(), at, Some(wanted))
    }

    /// The driver is started again on the same machine.
    pub(crate) fn restart_driver(&mut self) {
        self.volumes = driver(&self.home, &self.sim, &self.node);
    }

    pub(crate) fn reconcile(&self) -> Reconciliation {
        self.volumes.reconcile()
    }

    /// Kubelet's file beside the staging path.
    pub(crate) fn write_vol_data(&self, driver: &str, volume: &str) {
        let file = path(STAGING).parent().unwrap();
        self.make_directory(&file.to_string());
        let text =
            format!(r#"{{"driverName":"{driver}","volumeHandle":"{volume}","nodeName":"n"}}"#);
        let file = path(&format!(r"{file}\vol_data.json"));
        self.sim.files().write_file(&file, text.as_bytes()).unwrap();
    }

    pub(crate) fn link(&self, to: &str, at: &str) {
        let files = NodeApi::filesystem(&*self.node);
        let parent = path(at).parent().unwrap();
        files.make_directory(&parent, self.soon()).unwrap();
        files
            .link_directory(&path(to), &path(at), self.soon())
            .unwrap();
    }

    /// Brings the disk online, as Windows does by itself where its SAN policy says so.
    pub(crate) fn bring_online(&self) {
        let disks = NodeApi::disks(&*self.node);
        disks.rescan(self.soon()).unwrap();
        let found = disks.find(&query(), self.soon()).unwrap();
        disks.bring_online(&found, self.soon()).unwrap();
    }

    /// Mounts the volume at another folder, as an administrator may.
    pub(crate) fn mount_elsewhere(&self, at: &str) {
        let (node, soon) = (&*self.node, self.soon());
        let volume = NodeApi::volumes(node)
            .find_at(&path(STAGING), soon)
            .unwrap();
        self.make_directory(at);
        NodeApi::volumes(node)
            .mount(&volume, &path(at), soon)
            .unwrap();
    }

    pub(crate) fn is_read_only(&self) -> bool {
        let disks = NodeApi::disks(&*self.node);
        let found = disks.find(&query(), self.soon()).unwrap();
        disks.is_read_only(found.number(), self.soon()).unwrap()
    }

    pub(crate) fn metrics(&self) -> String {
        let mut page = program::metrics::Exposition::default();
        self.volumes.render(&mut page);
        page.into_text()
    }

    pub(crate) fn reboot(&mut self) {
        self.sim.reboot().unwrap();
        self.restart_driver();
    }

    /// The records are lost.
    pub(crate) fn forget(&mut self) {
        fs::remove_dir_all(self.home.path().join("records")).unwrap();
        self.restart_driver();
    }

    pub(crate) fn kill_at(&self, rule: Rule) {
        self.sim.faults().add(rule);
    }

    /// After a death the driver starts on the same machine.
    pub(crate) fn revive(&mut self) {
        let folder = self.home.path().join("node");
        self.sim = SimNode::open(&folder, ClockMode::Virtual).unwrap();
        self.node = Arc::new(Node::new(self.sim.os(), Options::default()));
        self.restart_driver();
    }

    /// Kubelet calls again, and the volume works.
    pub(crate) fn stage_again(&self) {
        self.stage().unwrap();
        self.publish(TARGET).unwrap();
    }

    /// Kubelet calls no stage any more: the pod is gone.
    pub(crate) fn delete_pod(&self) {
        self.unstage().unwrap();
        assert!(!self.exists(STAGING));
        assert!(!self.is_online());
        assert_eq!(self.records(), 0);
    }

    pub(crate) fn fail(&self, operation: &str, code: Win32) {
        let faults = self.sim.faults();
        faults.add(Rule::on(operation, Effect::fail(code)));
    }

    pub(crate) fn heal(&self) {
        self.sim.faults().clear();
    }

    pub(crate) fn grow(&self, length: u64) {
        self.sim.hardware().grow_disk(DISK, length).unwrap();
    }

    pub(crate) fn pull_out(&self) {
        self.sim.hardware().unplug_disk(DISK).unwrap();
    }

    pub(crate) fn plug_in(&self) {
        self.sim.hardware().plug_disk(DISK).unwrap();
    }

    pub(crate) fn unmount_behind_the_drivers_back(&self) {
        let (staging, volumes) = (path(STAGING), NodeApi::volumes(&*self.node));
        let volume = volumes.of_target(&staging, self.soon()).unwrap();
        volumes.unmount(volume, &staging, self.soon()).unwrap();
    }

    /// Writes a file to the volume, as a pod does.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let volumes = NodeApi::volumes(&*self.node);
        let volume = volumes.of_target(&path(STAGING), self.soon()).unwrap();
        let folder = self.home.path().join("node").join("volumes");
        fs::write(folder.join(volume.0.to_string()).join(name), content).unwrap();
    }

    pub(crate) fn make_directory(&self, at: &str) {
        let files = NodeApi::filesystem(&*self.node);
        files.make_directory(&path(at), self.soon()).unwrap();
    }

    pub(crate) fn exists(&self, at: &str) -> bool {
        let files = NodeApi::filesystem(&*self.node);
        files.path_exists(&path(at), self.soon()).unwrap()
    }

    pub(crate) fn is_online(&self) -> bool {
        let disks = NodeApi::disks(&*self.node);
        disks.rescan(self.soon()).unwrap();
        let found = match disks.find(&query(), self.soon()) {
            Ok(found) => found.number(),
            Err(error) if error.is(Condition::NotFound) => return false,
            Err(error) => panic!("{error}"),
        };
        disks.is_online(found, self.soon()).unwrap()
    }

    pub(crate) fn records(&self) -> usize {
        fs::read_dir(self.home.path().join("records"))
            .unwrap()
            .count()
    }

    fn soon(&self) -> Deadline {
        self.node.deadline(Duration::from_secs(60))
    }
}

pub(crate) fn steps_of_a_stage() -> u32 {
    let fixture = Fixture::new();
    fixture.sim.take_trace();
    fixture.stage().unwrap();
    u32::try_from(fixture.sim.take_trace().len()).unwrap()
}

pub(crate) fn steps_of_an_unstage() -> u32 {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.sim.take_trace();
    fixture.unstage().unwrap();
    u32::try_from(fixture.sim.take_trace().len()).unwrap()
}

fn driver(home: &TempDir, sim: &SimNode, node: &Arc<Node>) -> DiskVolumes {
    let machine = Arc::new(Simulated(sim.files().clone()));
    let kubelet = Kubelet {
        driver_name: DRIVER.to_owned(),
        folder: r"C:\var\lib\kubelet".parse().ok(),
    };
    DiskVolumes::new(node.clone(), store(home), machine, kubelet)
}

fn store(home: &TempDir) -> Store {
    Store::open(&home.path().join("records")).unwrap()
}

fn volume() -> VolumeHandle {
    VolumeHandle::parse(VOLUME).unwrap()
}

fn query() -> DiskQuery {
    DiskQuery::from_record(&format!("v1 page83={IDENTIFIER}")).unwrap()
}

fn path(text: &str) -> WinPath {
    text.parse().unwrap()
}
