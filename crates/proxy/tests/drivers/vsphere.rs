//! The vSphere driver. It runs in HostProcess containers only and does all by a library in its own process; here by
//! `node::api` and, as the two should be one, by `client` over the pipes as well.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client::{Endpoint, Group};
use node::api::{self, NodeApi};
use node::{Criterion, DiskQuery, FoundDisk, FoundVolume, NewSize, Page83};
use os::{Deadline, Files, WinPath};
use os_sim::{Content, NodeSpec, Profile};

use super::fixture::{NodeFixture, path};
use super::lives::{Ask, Driver, Form, Paths, lives_of};
use super::steps::{Answer, Lifeline, StepFailure, Vars};

const UUID: &str = "6000c29a1b2c3d4e5f60718293a4b5c6";
const DISK: &str = "data";

/// Where a proxy with `-listen=FOLDER` serves: its pipes on Windows, sockets elsewhere.
fn over_pipes(sockets: PathBuf) -> client::Node {
    let place = move |group: &Group| Endpoint::local(&sockets, &group.pipe_name());
    client::Node::at(place, client::Options::default())
}

/// The way of the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    InProcess,
    OverPipes,
}

struct Vsphere<'a> {
    fixture: &'a NodeFixture,
    node: Arc<dyn NodeApi>,
    mode: Mode,
    lifeline: Lifeline,
    paths: Paths,
}

impl<'a> Vsphere<'a> {
    fn start(fixture: &'a NodeFixture, mode: Mode, form: Form) -> Self {
        let node: Arc<dyn NodeApi> = match mode {
            Mode::InProcess => Arc::new(fixture.library()),
            Mode::OverPipes => Arc::new(over_pipes(fixture.sockets())),
        };
        Self {
            fixture,
            node,
            mode,
            lifeline: Lifeline::default(),
            paths: Paths::new("csi.vsphere.vmware.com", "pvc-1", form),
        }
    }

    /// One call of the library.
    fn call<T>(&self, act: impl FnOnce(&dyn NodeApi, Deadline) -> api::Result<T>) -> Answer<T> {
        let deadline = self.node.deadline(Duration::from_secs(60));
        let step = format!("vsphere ({:?})", self.mode);
        self.lifeline.call(&step, || {
            act(&*self.node, deadline).map_err(|error| StepFailure::new(&step, &error))
        })
    }

    fn staging(&self) -> WinPath {
        path(&self.paths.staging)
    }

    fn target(&self) -> WinPath {
        path(&self.paths.target)
    }

    fn find_disk(&self) -> Answer<FoundDisk> {
        let page83 = Criterion::Page83(Page83::parse(UUID).unwrap());
        let wanted = DiskQuery::all([page83]).unwrap();
        self.call(|node, deadline| node.disks().find(&wanted, deadline))
    }

    /// Its own `IsLikelyNotMountPoint`, turned round, with the look into the folder.
    fn is_mounted(&self) -> bool {
        let entry = self.fixture.sim.files().entry(&self.staging());
        let is_reparse_point = entry.is_ok_and(|entry| entry.tag.is_some());
        is_reparse_point && self.fixture.read_directory(&self.paths.staging).is_ok()
    }

    fn format_and_mount(&self, found: &FoundDisk) -> Answer<()> {
        self.call(|node, deadline| node.disks().partition(found, deadline))?;
        self.call(|node, deadline| node.disks().bring_online(found, deadline))?;
        let disk = found.number();
        let volumes =
            self.call(|node, deadline| node.volumes().list_on_disk(disk, None, deadline))?;
        let volume = volumes[0];
        let volume = FoundVolume::on_disk(volume, found.clone());
        if !self.call(|node, deadline| node.volumes().is_formatted(volume.id(), deadline))? {
            self.call(|node, deadline| node.volumes().format(&volume, deadline))?;
        }
        self.call(|node, deadline| node.volumes().mount(&volume, &self.staging(), deadline))
    }

    fn stage(&self) -> Answer<()> {
        let disk = self.find_disk()?;
        if self.is_mounted() {
            return Ok(());
        }
        self.format_and_mount(&disk)
    }

    fn publish(&self) -> Answer<()> {
        let target = self.target();
        let parent = target.parent().unwrap();
        if self.call(|node, deadline| node.filesystem().path_exists(&target, deadline))? {
            self.call(|node, deadline| node.filesystem().remove_tree(&target, deadline))?;
        }
        self.call(|node, deadline| node.filesystem().make_directory(&parent, deadline))?;
        let staging = self.staging();
        self.call(|node, deadline| {
            node.filesystem()
                .create_symlink(&staging, &target, deadline)
        })
    }

    fn unpublish(&self) -> Answer<()> {
        self.call(|node, deadline| node.filesystem().remove_tree(&self.target(), deadline))
    }

    fn unstage(&self) -> Answer<()> {
        let staging = self.staging();
        if !self.call(|node, deadline| node.filesystem().path_exists(&staging, deadline))? {
            return Ok(());
        }
        let volume = self.call(|node, deadline| node.volumes().of_target(&staging, deadline))?;
        self.call(|node, deadline| node.volumes().unmount(volume, &staging, deadline))?;
        self.call(|node, deadline| node.filesystem().remove_tree(&staging, deadline))?;
        let disk = self.find_disk()?;
        self.call(|node, deadline| node.disks().take_offline(&disk, deadline))
    }

    fn stats(&self) -> Answer<Vars> {
        let target = self.target();
        let volume = self.call(|node, deadline| node.volumes().of_target(&target, deadline))?;
        let space = self.call(|node, deadline| node.volumes().stats(volume, deadline))?;
        let values = [("total", space.total), ("used", space.total - space.free)];
        Ok(values
            .map(|(name, bytes)| (name.to_owned(), bytes.to_string()))
            .into())
    }

    fn expand(&self) -> Answer<()> {
        let target = self.target();
        let volume = self.call(|node, deadline| node.volumes().find_at(&target, deadline))?;
        self.call(|node, deadline| node.disks().rescan(deadline))?;
        let disk = self.call(|node, deadline| node.volumes().disk_number(volume.id(), deadline))?;
        let bytes = self.call(|node, deadline| node.disks().size(disk, deadline))?;
        assert_eq!(bytes, 4 << 30, "{disk}");
        let found = self.find_disk()?;
        self.call(|node, deadline| node.disks().bring_online(&found, deadline))?;
        self.call(|node, deadline| node.volumes().resize(&volume, NewSize::Maximum, deadline))?;
        Ok(())
    }
}

impl Driver for Vsphere<'_> {
    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn lifeline(&self) -> &Lifeline {
        &self.lifeline
    }

    fn ask(&self, what: Ask) -> Answer<Option<Vars>> {
        match what {
            Ask::Stage => self.stage()?,
            Ask::Publish => self.publish()?,
            Ask::Unpublish => self.unpublish()?,
            Ask::Unstage => self.unstage()?,
            Ask::Stats => return self.stats().map(Some),
            Ask::Expand => self.expand()?,
            Ask::Grow => self
                .fixture
                .sim
                .hardware()
                .grow_disk(DISK, 4 << 30)
                .unwrap(),
            Ask::Unstaged => assert!(!self.fixture.is_online(UUID), "the disk is offline"),
        }
        Ok(Some(Vars::new()))
    }

    fn content(&self) -> PathBuf {
        let volume = self.fixture.mounted_at(&self.paths.staging).unwrap();
        self.fixture.volume_folder(volume)
    }
}

/// A node of vSphere, where a new disk arrives offline.
fn fixture() -> NodeFixture {
    let fixture = NodeFixture::named("vsphere");
    let disk = Profile::Vsphere.disk(3, UUID);
    let content = Content::blank(2 << 30);
    let hardware = fixture.sim.hardware();
    hardware.attach_disk(DISK, &disk, &content).unwrap();
    fixture.wait_until_the_provider_noticed();
    fixture
}

lives_of!(in_process, fixture(), |fixture, form| Vsphere::start(
    fixture,
    Mode::InProcess,
    form
));
lives_of!(over_pipes, fixture(), |fixture, form| Vsphere::start(
    fixture,
    Mode::OverPipes,
    form
));

/// NodeGetInfo: the node's UUID comes from there.
#[test]
fn in_both_modes_the_nodes_serial_number_is_known() -> Answer<()> {
    let fixture = fixture();
    for mode in [Mode::InProcess, Mode::OverPipes] {
        let driver = Vsphere::start(&fixture, mode, Form::Backslashes);
        let serial = driver.call(|node, deadline| node.system().serial_number(deadline))?;
        let wanted = NodeSpec::default().profile(Profile::Vsphere).serial;
        assert_eq!(serial, wanted, "{mode:?}");
    }
    Ok(())
}
