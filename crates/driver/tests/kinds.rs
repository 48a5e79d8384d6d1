//! A kind of volume that only this test has: a disk that the driver attaches itself. It is a source and a row of the table.

#![allow(clippy::panic, clippy::unwrap_used, reason = "test code")]

#[path = "deaths/mod.rs"]
mod deaths;

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
use wincsi::{Deadline, Error, Node, Options, Win32, WinPath};
use wincsi_driver::kinds::block::{Block, Disk, Source, Spec};
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::kubelet::{Refusal, Request};
use wincsi_driver::life::{CallError, Kubelet, Volumes};
use wincsi_driver::machine::Simulated;
use wincsi_driver::record::{Access, Lifetime, Store, VolumeHandle};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};

use self::deaths::{
    Done, LOCK_OF_RECORDS, Mortal, NODE, RECORDS, Snapshot, deaths_in, on_all_processors,
};

const IDENTIFIER: &str = "60022480aabbccddeeff001122334455";
const STAGING: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\1\globalmount";
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
        kinds.insert(0, row);
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
        let context = BTreeMap::from([(String::from("shelf"), String::from("data"))]);
        let (none, mount) = (BTreeMap::new(), MountVolume::default());
        let capability = VolumeCapability {
            access_type: Some(AccessType::Mount(mount)),
            access_mode: Some(AccessMode { mode: mode.into() }),
        };
        self.volumes.within(LONG).stage(&Request {
            volume: VolumeHandle::parse(handle).unwrap(),
            lifetime: Lifetime::Persistent,
            staging,
            target: "",
            context: &context,
            publish_context: &none,
            secrets: &none,
            capability: Some(&capability),
            of_pod: Access::ReadWrite,
        })
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

fn volume() -> VolumeHandle {
    VolumeHandle::parse("v").unwrap()
}

fn path(text: &str) -> WinPath {
    text.parse().unwrap()
}

fn stage(fixture: &Fixture) -> Done {
    Ok(fixture.stage()?)
}

fn unstage(fixture: &Fixture) -> Done {
    Ok(fixture.unstage()?)
}

#[test]
fn a_third_kind_lives_and_dies_at_each_operation() {
    let (blank, staged) = (Fixture::new(), Fixture::new());
    staged.stage().unwrap();
    assert!(staged.records()[0].contains(r#""kind":"shelf""#));
    let calls = [("stage", &blank), ("unstage", &staged)];
    for (name, fixture) in calls {
        let call = match name {
            "stage" => stage,
            _ => unstage,
        };
        let deaths = BTreeSet::from_iter(deaths_in(fixture, name, call));
        on_all_processors(&Vec::from_iter(deaths), |left| {
            let repeated = fixture.revived(left);
            call(&repeated).unwrap();
            unstage(&repeated).unwrap();
            repeated.assert_put_away(name);
            let deleted = fixture.revived(left);
            unstage(&deleted).unwrap();
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

/// Kubelet removed the folder of the staging path, and calls nobody any more.
#[test]
fn an_attached_disk_that_kubelet_forgot_is_detached() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let staging = path(STAGING);
    let folder = staging.parent().unwrap();
    let folder = fixture.sim.files().host_path(&folder).unwrap();
    fs::rename(&folder, folder.with_extension("gone")).unwrap();
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
