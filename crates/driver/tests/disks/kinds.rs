//! A kind of volume that only this test has: a disk that the driver attaches itself. It is a source and a row of the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use transport::Code;
use wincsi::disks::DiskQuery;
use wincsi::sim::{
    Arrives, Bus, ClockMode, Content, DiskSpec, Effect, IdentifierKind, NodeSpec, Rule, SimNode,
};
use wincsi::volumes::VolumeId;
use wincsi::{Deadline, Error, Node, NodeApi, Options, Win32, WinPath};
use wincsi_driver::kinds::block::{Block, Disk, Source, Spec};
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::kubelet::{Refusal, Request};
use wincsi_driver::life::{CallError, Capacity, Kubelet, Volumes};
use wincsi_driver::machine::Simulated;
use wincsi_driver::record::{Access, Lifetime, Store, VolumeHandle};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};

use crate::deaths::{
    Done, LOCK_OF_RECORDS, Mortal, NODE, RECORDS, Snapshot, deaths_in, on_all_processors,
};

const IDENTIFIER: &str = "60022480aabbccddeeff001122334455";
const STAGING: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\1\globalmount";
const TARGET: &str = r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~csi\pv\mount";
const OTHER: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\2\globalmount";
const LENGTH: u64 = 64 << 20;

/// More than a call has.
const LONG: Duration = Duration::MAX;

/// A disk on the shelf, by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OnShelf {
    shelf: String,
}

impl Spec for OnShelf {
    const KIND: &'static str = "shelf";
}

/// Disks that lie beside the machine until they are plugged in.
struct Shelf(SimNode);

impl Source for Shelf {
    type Spec = OnShelf;

    const ATTACHES: bool = true;

    fn accepts(&self, request: &Request<'_>) -> bool {
        request.context.contains_key("shelf")
    }

    fn keys(&self) -> Vec<&'static str> {
        vec!["shelf"]
    }

    fn read(&self, request: &Request<'_>) -> Result<OnShelf, Refusal> {
        let shelf = request.context["shelf"].clone();
        Ok(OnShelf { shelf })
    }

    fn query(&self, _disk: &OnShelf) -> DiskQuery {
        DiskQuery::from_record(&format!("v1 page83={IDENTIFIER}")).unwrap()
    }

    fn attach(&self, disk: &OnShelf, _deadline: Deadline) -> Result<(), Error> {
        // An operation of the system, before which the driver may die: plugging in is none.
        self.0.os().volumes.list().unwrap();
        // It may be plugged in.
        drop(self.0.hardware().plug_disk(&disk.shelf));
        Ok(())
    }

    fn detach(&self, disk: &OnShelf, _deadline: Deadline) -> Result<(), Error> {
        drop(self.0.hardware().unplug_disk(&disk.shelf));
        Ok(())
    }
}

struct Fixture {
    sim: SimNode,
    volumes: Volumes,
    home: TempDir,
}

impl Fixture {
    /// A blank disk on the shelf.
    fn new() -> Self {
        Self::arriving(Arrives::ByPolicy)
    }

    /// The same, which comes so when it is plugged in.
    fn arriving(arrives: Arrives) -> Self {
        let home = tempfile::tempdir().unwrap();
        let spec = NodeSpec::named("n");
        let sim = SimNode::create(&home.path().join(NODE), &spec, ClockMode::Virtual).unwrap();
        let disk = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, IDENTIFIER);
        let disk = disk.arriving(arrives);
        let (hardware, content) = (sim.hardware(), Content::blank(LENGTH));
        hardware.attach_disk("data", &disk, &content).unwrap();
        hardware.unplug_disk("data").unwrap();
        Self::with(home, sim)
    }

    fn with(home: TempDir, sim: SimNode) -> Self {
        let (shelf, mut kinds) = (Shelf(sim.clone()), kinds::table(kinds::Settings::default()));
        let row = Row::of::<Disk<OnShelf>, _>(|ctx| Block::new(ctx, shelf, Duration::ZERO));
        // Before the last, which accepts each request.
        kinds.insert(kinds.len() - 1, row);
        let store = Store::open(&home.path().join(RECORDS), &Row::forms(&kinds)).unwrap();
        let kubelet = Kubelet {
            driver_name: String::from("d"),
            folder: r"C:\var\lib\kubelet".parse().ok(),
        };
        let node = Arc::new(Node::new(sim.os(), Options::default()));
        let machine = Arc::new(Simulated(sim.files().clone()));
        Self {
            volumes: Volumes::new(node, store, machine, kubelet, kinds),
            sim,
            home,
        }
    }

    fn revived(&self, left: &Snapshot) -> Self {
        let home = tempfile::tempdir().unwrap();
        left.revive(self.home.path(), home.path());
        let sim = SimNode::open(&home.path().join(NODE), ClockMode::Virtual).unwrap();
        Self::with(home, sim)
    }

    fn stage(&self) -> Result<(), CallError> {
        self.stage_for(Mode::SingleNodeWriter)
    }

    fn stage_for(&self, mode: Mode) -> Result<(), CallError> {
        self.stage_as("v", STAGING, mode)
    }

    fn stage_as(&self, handle: &str, staging: &str, mode: Mode) -> Result<(), CallError> {
        let call = self.volumes.within(LONG);
        request(handle, staging, mode, |request| call.stage(request))
    }

    fn publish(&self) -> Result<(), CallError> {
        let call = self.volumes.within(LONG);
        let mode = Mode::SingleNodeWriter;
        request("v", STAGING, mode, |request| call.publish(request))
    }

    fn expand(&self) -> Result<u64, CallError> {
        let call = self.volumes.within(LONG);
        call.expand(&volume(), TARGET, Capacity::default())
    }

    /// As kubelet does.
    fn put_away(&self) {
        let call = self.volumes.within(LONG);
        call.unpublish(&volume(), &path(TARGET).into()).unwrap();
        self.unstage().unwrap();
    }

    /// The volume of the node that is staged.
    fn mounted(&self) -> VolumeId {
        let node = self.hand();
        let volumes = NodeApi::volumes(&node);
        volumes.of_target(&path(STAGING), soon(&node)).unwrap()
    }

    /// What is done on the node past the driver.
    fn hand(&self) -> Node {
        Node::new(self.sim.os(), Options::default())
    }

    fn unstage(&self) -> Result<(), CallError> {
        self.volumes
            .within(LONG)
            .unstage(&volume(), &path(STAGING).into())
    }

    fn records(&self) -> Vec<String> {
        let files = fs::read_dir(self.home.path().join(RECORDS)).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let files = files.filter(|file| !file.ends_with(LOCK_OF_RECORDS));
        files
            .map(|file| fs::read_to_string(file).unwrap())
            .collect()
    }

    fn assert_put_away(&self, what: &str) {
        assert_eq!(self.records(), [""; 0], "{what}");
        assert!(!self.is_attached(), "{what}: the disk is attached");
    }

    fn is_attached(&self) -> bool {
        let hardware = self.sim.hardware();
        let is_attached = hardware.plug_disk("data").is_err();
        if !is_attached {
            hardware.unplug_disk("data").unwrap();
        }
        is_attached
    }
}

impl Mortal for Fixture {
    fn sim(&self) -> &SimNode {
        &self.sim
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.home.path())
    }
}

fn soon(node: &Node) -> Deadline {
    NodeApi::deadline(node, Duration::from_secs(60))
}

/// A request for the disk on the shelf.
fn request<T>(handle: &str, staging: &str, mode: Mode, call: impl FnOnce(&Request<'_>) -> T) -> T {
    let context = BTreeMap::from([(String::from("shelf"), String::from("data"))]);
    let (none, mount) = (BTreeMap::new(), MountVolume::default());
    let capability = VolumeCapability {
        access_type: Some(AccessType::Mount(mount)),
        access_mode: Some(AccessMode { mode: mode.into() }),
    };
    call(&Request {
        volume: VolumeHandle::parse(handle).unwrap(),
        lifetime: Lifetime::Persistent,
        staging,
        target: TARGET,
        context: &context,
        publish_context: &none,
        secrets: &none,
        capability: Some(&capability),
        of_pod: Access::ReadWrite,
    })
}

fn volume() -> VolumeHandle {
    VolumeHandle::parse("v").unwrap()
}

fn path(text: &str) -> WinPath {
    text.parse().unwrap()
}

#[test]
fn a_third_kind_lives_and_dies_at_each_operation() {
    type Calls = fn(&Fixture) -> Done;
    let calls: [(&str, Calls); 4] = [
        ("stage", |fixture| Ok(fixture.stage()?)),
        ("publish", |fixture| Ok(fixture.publish()?)),
        ("expand", |fixture| Ok(fixture.expand().map(drop)?)),
        ("unstage", |fixture| Ok(fixture.unstage()?)),
    ];
    for (at, (name, call)) in calls.into_iter().enumerate() {
        let fixture = Fixture::new();
        // An unstage comes once the pod has left.
        for (_, before) in calls[..at]
            .iter()
            .take(if name == "unstage" { 1 } else { 2 })
        {
            before(&fixture).unwrap();
        }
        if name == "unstage" {
            assert!(fixture.records()[0].contains(r#""kind":"shelf""#));
        }
        let deaths = BTreeSet::from_iter(deaths_in(&fixture, name, call));
        on_all_processors(&Vec::from_iter(deaths), |left| {
            let repeated = fixture.revived(left);
            call(&repeated).unwrap();
            repeated.put_away();
            repeated.assert_put_away(name);
            let deleted = fixture.revived(left);
            deleted.put_away();
            deleted.assert_put_away(name);
        });
    }
}

#[test]
fn a_stage_that_is_refused_detaches_its_disk() {
    let fixture = Fixture::arriving(Arrives::Online);
    let refused = fixture.stage_for(Mode::MultiNodeReaderOnly).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    fixture.assert_put_away("refused");
}

/// Kubelet forgets a volume after a final code.
#[test]
fn a_request_that_cannot_be_read_is_repeated_while_something_is_left() {
    let fixture = Fixture::new();
    let not_ready = Effect::fail(Win32::NOT_READY);
    let faults = fixture.sim.faults();
    faults.add(Rule::on("MSFT_Disk.CreatePartition", not_ready));
    fixture.stage().unwrap_err();
    faults.clear();
    let code = || {
        let refused = fixture.stage_for(Mode::MultiNodeMultiWriter);
        refused.unwrap_err().code()
    };
    assert_eq!(code(), Code::Unavailable);
    fixture.unstage().unwrap();
    assert_eq!(code(), Code::InvalidArgument);
}

#[test]
fn a_stage_that_fails_for_good_detaches_its_disk() {
    for operation in ["SetVolumeMountPointW", "MSFT_Disk.CreatePartition"] {
        let fixture = Fixture::new();
        let denied = Effect::fail(Win32::ACCESS_DENIED);
        fixture.sim.faults().add(Rule::on(operation, denied));
        fixture.stage().unwrap_err();
        fixture.sim.faults().clear();
        fixture.assert_put_away(operation);
    }
}

#[test]
fn a_disk_of_two_volumes_stays_attached_for_the_other() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let refused = fixture.stage_as("w", OTHER, Mode::SingleNodeReaderOnly);
    assert_eq!(refused.unwrap_err().code(), Code::FailedPrecondition);
    assert!(fixture.is_attached());
    fixture
        .stage_as("w", OTHER, Mode::SingleNodeWriter)
        .unwrap();
    fixture.unstage().unwrap();
    assert!(fixture.is_attached());
    let other = VolumeHandle::parse("w").unwrap();
    let call = fixture.volumes.within(LONG);
    call.unstage(&other, &path(OTHER).into()).unwrap();
    fixture.assert_put_away("both");
}

#[test]
fn a_disk_that_something_else_uses_stays_attached() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let open_file = fixture.sim.hold(fixture.mounted());
    fixture.unstage().unwrap();
    assert!(fixture.is_attached());
    drop(open_file);
}

/// The record may be that of another volume on the disk.
#[test]
fn a_disk_stays_attached_beside_an_unreadable_record() {
    for is_undo in [false, true] {
        let Fixture { sim, volumes, home } = Fixture::new();
        drop(volumes);
        let file = home.path().join(RECORDS).join("other.json");
        fs::write(file, r#"{"version": 4}"#).unwrap();
        let fixture = Fixture::with(home, sim);
        if is_undo {
            let denied = Effect::fail(Win32::ACCESS_DENIED);
            let denied = Rule::on("SetVolumeMountPointW", denied);
            fixture.sim.faults().add(denied);
            fixture.stage().unwrap_err();
        } else {
            fixture.stage().unwrap();
            fixture.unstage().unwrap();
        }
        assert_eq!(fixture.records().len(), 1, "{is_undo}");
        assert!(fixture.is_attached(), "{is_undo}");
    }
}

/// Kubelet removed the folder of the staging path, and calls nobody any more.
#[test]
fn an_attached_disk_that_kubelet_forgot_is_detached() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let (node, staging) = (fixture.hand(), path(STAGING));
    let (files, soon) = (NodeApi::filesystem(&node), soon(&node));
    files.remove_entry(&staging, soon).unwrap();
    let folder = staging.parent().unwrap();
    files.remove_entry(&folder, soon).unwrap();
    fixture.volumes.reconcile();
    fixture.assert_put_away("forgotten");
}

#[test]
fn no_refusal_is_final_where_the_record_is_unreadable() {
    let Fixture { sim, volumes, home } = {
        let fixture = Fixture::new();
        fixture.stage().unwrap();
        fixture
    };
    drop(volumes);
    for file in fs::read_dir(home.path().join(RECORDS)).unwrap() {
        let file = file.unwrap().path();
        if !file.ends_with(LOCK_OF_RECORDS) {
            fs::write(file, r#"{"version": 4}"#).unwrap();
        }
    }
    let fixture = Fixture::with(home, sim);
    let refused = fixture.stage_for(Mode::MultiNodeMultiWriter).unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
}
