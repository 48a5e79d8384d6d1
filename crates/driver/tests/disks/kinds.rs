//! A kind of volume that only this test has: a disk that the driver attaches itself. It is a source and a row of the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use transport::Code;
use wincsi::disks::DiskQuery;
use wincsi::sim::testing::TestNode;
use wincsi::sim::{Arrives, Bus, DiskSpec, IdentifierKind, NodeSpec, SimNode};
use wincsi::volumes::VolumeId;
use wincsi::{Deadline, NodeApi, Win32};
use wincsi_driver::kinds::block::{Block, Disk, Leaves, Source, Spec, Use};
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::kubelet::{Refusal, Request};
use wincsi_driver::life::{CallError, Capacity};
use wincsi_driver::record::{Access, Lifetime, VolumeHandle};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};

use crate::deaths::{Done, Snapshot, deaths_in, on_all_processors};
use crate::fixture::{STAGING, TARGET};
use crate::support::{DriverFixture, Setup, path};

const IDENTIFIER: &str = "60022480aabbccddeeff001122334455";
const OTHER: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\2\globalmount";
const LENGTH: u64 = 64 << 20;

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
    type Secret = ();

    const ATTACHES: bool = true;

    fn accepts(&self, request: &Request<'_>) -> bool {
        request.context.contains_key("shelf")
    }

    fn keys(&self) -> Vec<&'static str> {
        vec!["shelf"]
    }

    fn read(&self, request: &Request<'_>) -> Result<(OnShelf, ()), Refusal> {
        let shelf = request.context["shelf"].clone();
        Ok((OnShelf { shelf }, ()))
    }

    fn query(&self, _disk: &OnShelf) -> DiskQuery {
        DiskQuery::from_record(&format!("v1 page83={IDENTIFIER}")).unwrap()
    }

    fn attach(
        &self,
        of: Use<'_, OnShelf>,
        _secret: Option<&()>,
        _deadline: Deadline,
    ) -> Result<(), CallError> {
        // An operation of the system, before which the driver may die: plugging in is none.
        self.0.os().volumes.list().unwrap();
        // It may be plugged in.
        drop(self.0.hardware().plug_disk(&of.disk.shelf));
        Ok(())
    }

    fn detach(
        &self,
        of: Use<'_, OnShelf>,
        leaves: Leaves,
        _deadline: Deadline,
    ) -> Result<(), CallError> {
        if leaves == Leaves::InUse {
            return Ok(());
        }
        drop(self.0.hardware().unplug_disk(&of.disk.shelf));
        Ok(())
    }
}

const SETUP: Setup = Setup { name: "d", kinds };

fn kinds(sim: &SimNode) -> Vec<Row> {
    let (shelf, mut kinds) = (Shelf(sim.clone()), kinds::table(kinds::Settings::default()));
    let row = Row::of::<Disk<OnShelf>, _>(|ctx| Block::new(ctx, shelf, Duration::ZERO));
    // Before the last, which accepts each request.
    kinds.insert(kinds.len() - 1, row);
    kinds
}

struct Fixture(DriverFixture);

impl Fixture {
    /// A blank disk on the shelf.
    fn new() -> Self {
        Self::arriving(Arrives::ByPolicy)
    }

    /// The same, which comes so when it is plugged in.
    fn arriving(arrives: Arrives) -> Self {
        let sim = TestNode::of(tempfile::tempdir().unwrap(), &NodeSpec::named("n"));
        let disk = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, IDENTIFIER);
        sim.attach("data", &disk.arriving(arrives), LENGTH);
        sim.hardware().unplug_disk("data").unwrap();
        Self(DriverFixture::on(sim, SETUP))
    }

    fn revived(&self, left: &Snapshot) -> Self {
        Self(self.0.revived(left))
    }

    fn stage(&self) -> Result<(), CallError> {
        self.stage_for(Mode::SingleNodeWriter)
    }

    fn stage_for(&self, mode: Mode) -> Result<(), CallError> {
        self.stage_as("v", STAGING, mode)
    }

    fn stage_as(&self, handle: &str, staging: &str, mode: Mode) -> Result<(), CallError> {
        let call = self.call();
        request(handle, staging, mode, |request| call.stage(request))
    }

    fn publish(&self) -> Result<(), CallError> {
        let call = self.call();
        let mode = Mode::SingleNodeWriter;
        request("v", STAGING, mode, |request| call.publish(request))
    }

    fn expand(&self) -> Result<u64, CallError> {
        self.call().expand(&volume(), TARGET, Capacity::default())
    }

    /// As kubelet does.
    fn put_away(&self) {
        let target = path(TARGET).into();
        self.call().unpublish(&volume(), &target).unwrap();
        self.unstage().unwrap();
    }

    /// The volume of the node that is staged.
    fn mounted(&self) -> VolumeId {
        let volumes = NodeApi::volumes(&self.hand);
        volumes.of_target(&path(STAGING), self.soon()).unwrap()
    }

    fn unstage(&self) -> Result<(), CallError> {
        self.call().unstage(&volume(), &path(STAGING).into())
    }

    fn records(&self) -> Vec<String> {
        let files = self.record_files().into_iter();
        files
            .map(|file| fs::read_to_string(file).unwrap())
            .collect()
    }

    fn assert_put_away(&self, what: &str) {
        assert_eq!(self.records(), [""; 0], "{what}");
        assert!(!self.is_attached(), "{what}: the disk is attached");
    }

    fn is_attached(&self) -> bool {
        let hardware = self.hardware();
        let is_attached = hardware.plug_disk("data").is_err();
        if !is_attached {
            hardware.unplug_disk("data").unwrap();
        }
        is_attached
    }
}

impl Deref for Fixture {
    type Target = DriverFixture;

    fn deref(&self) -> &DriverFixture {
        &self.0
    }
}

impl DerefMut for Fixture {
    fn deref_mut(&mut self) -> &mut DriverFixture {
        &mut self.0
    }
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
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
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
        fixture.fail(operation, Win32::ACCESS_DENIED);
        fixture.stage().unwrap_err();
        fixture.heal();
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
    let staging = path(OTHER).into();
    fixture.call().unstage(&other, &staging).unwrap();
    fixture.assert_put_away("both");
}

#[test]
fn a_disk_that_something_else_uses_stays_attached() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let open_file = fixture.hold(fixture.mounted());
    fixture.unstage().unwrap();
    assert!(fixture.is_attached());
    drop(open_file);
}

/// The record may be that of another volume on the disk.
#[test]
fn a_disk_stays_attached_beside_an_unreadable_record() {
    for is_undo in [false, true] {
        let mut fixture = Fixture::new();
        fixture.stop_driver();
        let file = fixture.records_folder().join("other.json");
        fs::write(file, r#"{"version": 4}"#).unwrap();
        fixture.restart_driver();
        if is_undo {
            fixture.fail("SetVolumeMountPointW", Win32::ACCESS_DENIED);
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
    let folder = path(STAGING).parent().unwrap();
    fixture.remove_directory(STAGING);
    fixture.remove_directory(&folder.to_string());
    fixture.reconcile();
    fixture.assert_put_away("forgotten");
}

#[test]
fn no_refusal_is_final_where_the_record_is_unreadable() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.stop_driver();
    for file in fixture.record_files() {
        fs::write(file, r#"{"version": 4}"#).unwrap();
    }
    fixture.restart_driver();
    let refused = fixture.stage_for(Mode::MultiNodeMultiWriter).unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
}
