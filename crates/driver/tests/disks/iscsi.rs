//! Volumes that are LUNs of iSCSI targets, from the login to the logout.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::{Deref, DerefMut};

use wincsi::NodeApi;
use wincsi::iscsi::SessionInfo;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::testing::TestNode;
use wincsi::sim::{Bus, DiskSpec, IdentifierKind, NodeSpec, SimNode};
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::kubelet::Request;
use wincsi_driver::life::{CallError, Capacity};
use wincsi_driver::record::{Access, Lifetime, VolumeHandle};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};

use crate::deaths::{Done, Snapshot, deaths_in, on_all_processors};
use crate::fixture::{STAGING, TARGET};
use crate::support::{DriverFixture, Setup, path};

const ADDRESS: &str = "10.0.0.9";
const IQN: &str = "iqn.2026-01.com.example:data";
const USER: &str = "node";
const SECRET: &str = "0123456789ab";
const LENGTH: u64 = 64 << 20;

const SETUP: Setup = Setup {
    name: "i",
    kinds: |_: &SimNode| -> Vec<Row> { kinds::table(kinds::Settings::default()) },
};

struct Fixture(DriverFixture);

impl Fixture {
    /// An array with a target of two LUNs.
    fn new() -> Self {
        Self::of(TargetSpec::named(IQN))
    }

    fn of(target: TargetSpec) -> Self {
        let sim = TestNode::of(tempfile::tempdir().unwrap(), &NodeSpec::named("n"));
        let mut target = target;
        for lun in ["a", "b"] {
            let identifier = format!("600140500000000{lun}");
            let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, &identifier);
            target = target.with_disk(lun, disk);
            sim.array().set_image(lun, LENGTH).unwrap();
        }
        let server = ServerSpec::at(ADDRESS).offering(target);
        sim.array().add_server("array", &server).unwrap();
        Self(DriverFixture::on(sim, SETUP))
    }

    fn revived(&self, left: &Snapshot) -> Self {
        Self(self.0.revived(left))
    }

    fn stage(&self) -> Result<(), CallError> {
        self.stage_lun("v", STAGING, "0", &[])
    }

    fn stage_lun(
        &self,
        handle: &str,
        staging: &str,
        lun: &str,
        secrets: &[(&str, &str)],
    ) -> Result<(), CallError> {
        let call = self.call();
        let secrets = map(secrets);
        request(handle, staging, lun, &secrets, |request| {
            call.stage(request)
        })
    }

    fn publish(&self) -> Result<(), CallError> {
        let call = self.call();
        request("v", STAGING, "0", &BTreeMap::new(), |request| {
            call.publish(request)
        })
    }

    fn expand(&self) -> Result<u64, CallError> {
        self.call()
            .expand(&volume("v"), TARGET, Capacity::default())
    }

    fn unstage(&self) -> Result<(), CallError> {
        self.call().unstage(&volume("v"), &path(STAGING).into())
    }

    fn put_away(&self) {
        let target = path(TARGET).into();
        self.call().unpublish(&volume("v"), &target).unwrap();
        self.unstage().unwrap();
    }

    fn sessions(&self) -> Vec<SessionInfo> {
        NodeApi::iscsi(&self.hand).sessions(self.soon()).unwrap()
    }

    /// Nothing is left of a volume: neither record, lease, session nor portal.
    fn assert_put_away(&self, what: &str) {
        let files = fs::read_dir(self.records_folder()).unwrap().flatten();
        let left: Vec<_> = files
            .map(|file| file.file_name().into_string().unwrap())
            .filter(|name| name != "lock")
            .collect();
        assert_eq!(left, [""; 0], "{what}");
        if self.initiator_runs() {
            assert_eq!(self.sessions(), [], "{what}");
            let portals = NodeApi::iscsi(&self.hand).portals(self.soon()).unwrap();
            assert_eq!(portals, [], "{what}");
        }
    }

    fn initiator_runs(&self) -> bool {
        NodeApi::iscsi(&self.hand).sessions(self.soon()).is_ok()
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

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}

/// As democratic-csi writes it.
fn request<T>(
    handle: &str,
    staging: &str,
    lun: &str,
    secrets: &BTreeMap<String, String>,
    call: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let context = map(&[
        ("node_attach_driver", "iscsi"),
        ("portal", "10.0.0.9:3260"),
        ("portals", ""),
        ("interface", ""),
        ("iqn", IQN),
        ("lun", lun),
    ]);
    let (none, mount) = (BTreeMap::new(), MountVolume::default());
    let mode = Mode::SingleNodeWriter;
    let capability = VolumeCapability {
        access_type: Some(AccessType::Mount(mount)),
        access_mode: Some(AccessMode { mode: mode.into() }),
    };
    call(&Request {
        volume: volume(handle),
        lifetime: Lifetime::Persistent,
        staging,
        target: TARGET,
        context: &context,
        publish_context: &none,
        secrets,
        capability: Some(&capability),
        of_pod: Access::ReadWrite,
    })
}

fn volume(handle: &str) -> VolumeHandle {
    VolumeHandle::parse(handle).unwrap()
}

#[test]
fn a_lun_lives_and_dies_at_each_operation() {
    type Calls = fn(&Fixture) -> Done;
    let calls: [(&str, Calls); 4] = [
        ("stage", |fixture| Ok(fixture.stage()?)),
        ("publish", |fixture| Ok(fixture.publish()?)),
        ("expand", |fixture| Ok(fixture.expand().map(drop)?)),
        ("unstage", |fixture| Ok(fixture.unstage()?)),
    ];
    for (at, (name, call)) in calls.into_iter().enumerate() {
        let fixture = Fixture::new();
        let before = if name == "unstage" { 1 } else { 2 };
        for (_, before) in calls[..at].iter().take(before) {
            before(&fixture).unwrap();
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
