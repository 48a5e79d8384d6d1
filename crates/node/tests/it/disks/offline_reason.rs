//! Why Windows keeps a disk offline.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::schema::{partition, volume};
use os::{Deadline, DiskAttributes, Outcome, Query, Value};
use os_sim::testing::assert_says;
use os_sim::{Arrives, Bus, DiskSpec, Effect, IdentifierKind, NodeSpec, Op, Rule, SanPolicy};
use wincsi_node::{Authentication, Criterion, DiskError, DiskQuery, Disks, FoundDisk, Options};

use crate::support::initiator::{ADDRESS, OPEN, at, named};
use crate::support::{GIB, NodeFixture, STAGING};

const ID: &str = "600224801234567890abcdef00000001";
const ONLINE: &str = "MSFT_Disk.Online";

type Act = fn(&Disks<'_>, &FoundDisk, Deadline) -> Result<(), DiskError>;

/// What a driver does to an offline disk.
const ACTS: [(&str, Act); 3] = [
    ("online", |disks, disk, soon| disks.bring_online(disk, soon)),
    ("read-only", |disks, disk, soon| {
        disks.bring_online_read_only(disk, soon)
    }),
    ("partition", |disks, disk, soon| disks.partition(disk, soon)),
];

/// A node whose new disks are offline, with a disk at each of these units.
fn with_disks(disks: &[(u8, Arrives)]) -> NodeFixture {
    let spec = NodeSpec::named("node-1").san_policy(SanPolicy::OfflineAll);
    let fixture = NodeFixture::of(&spec, Options::default());
    for (lun, arrives) in disks {
        let spec = DiskSpec::on(Bus::Iscsi).lun(*lun).arriving(*arrives);
        let spec = spec.identified(IdentifierKind::Naa, ID);
        fixture.plug(&spec, &format!("path{lun}"), GIB);
    }
    fixture
}

fn found(fixture: &NodeFixture, lun: u32) -> FoundDisk {
    let query = DiskQuery::all([Criterion::Adapter(1), Criterion::Lun(lun)]).unwrap();
    fixture.disks().find(&query, fixture.soon()).unwrap()
}

/// How each act on the disk of unit 1 ends, and its steps.
fn each(arrives: Arrives, mut check: impl FnMut(&str, Result<(), DiskError>, &[Op], &NodeFixture)) {
    for (name, act) in ACTS {
        let fixture = with_disks(&[(0, Arrives::Online), (1, arrives)]);
        let disk = found(&fixture, 1);
        let mut done = Ok(());
        let steps = fixture.trace(|| done = act(&fixture.disks(), &disk, fixture.soon()));
        check(name, done, &steps, &fixture);
    }
}

fn attributes(fixture: &NodeFixture) -> DiskAttributes {
    let disk = found(fixture, 1).number();
    fixture.os().disks.attributes(disk).unwrap()
}

#[test]
fn another_path_to_a_disk_is_left_alone() {
    each(Arrives::RedundantPath, |name, done, steps, fixture| {
        let error = done.expect_err(name);
        let other = found(fixture, 0).number();
        assert_says(&error, &format!("is another path to disk {other}, "));
        assert_says(&error, "set up MPIO");
        let up = DiskAttributes {
            offline: true,
            read_only: true,
        };
        assert_eq!(attributes(fixture), up, "{name}");
        let changes = ["SetAttributes", "Online", "Initialize", "CreatePartition"];
        let is_change = |op: &&Op| changes.iter().any(|change| op.operation.ends_with(change));
        assert_eq!(steps.iter().find(is_change), None, "{name}");
    });
}

/// The provider's row may be from before the disk was another path.
#[test]
fn the_provider_looks_again_before_a_disk_comes_online() {
    let fixture = with_disks(&[(0, Arrives::Online), (1, Arrives::Offline)]);
    let disk = found(&fixture, 1);
    fixture.change_disk("path1", |spec| spec.arrives = Arrives::RedundantPath);
    let done = fixture.disks().bring_online(&disk, fixture.soon());
    assert!(
        matches!(done, Err(DiskError::RedundantPath { .. })),
        "{done:?}"
    );
}

#[test]
fn another_reason_is_in_the_error_alone() {
    each(Arrives::Offline, |name, done, _, _| {
        done.expect(name);
    });
    let fixture = with_disks(&[(1, Arrives::Offline)]);
    fixture.fault(Rule::on(ONLINE, Effect::Answer(Outcome::of(4))));
    let disk = found(&fixture, 1);
    let error = fixture.disks().bring_online(&disk, fixture.soon());
    assert_says(&error.unwrap_err(), "; Windows keeps it offline: Policy");
}

/// csi-proxy's SetDiskState and PartitionDisk name a disk by its number.
#[test]
fn csi_proxys_clients_bring_another_path_online() {
    let fixture = with_disks(&[(0, Arrives::Online), (1, Arrives::RedundantPath)]);
    let disk = found(&fixture, 1).number();
    fixture.disks().set_online(disk, fixture.soon()).unwrap();
    assert!(!attributes(&fixture).offline);
}

/// A driver takes a disk offline unless a volume of it is mounted: the first path's volume is not the second's.
#[test]
fn another_path_has_the_partition_and_no_volume() {
    let fixture = NodeFixture::with_portal();
    let disks = || {
        fixture.rescan();
        let (portal, target) = (at(ADDRESS), named(OPEN));
        let disks = fixture.iscsi().disks(&portal, &target, fixture.soon());
        Vec::from_iter(disks.unwrap())
    };
    fixture.connect(OPEN, &Authentication::None).unwrap();
    let first = disks()[0];
    fixture.disks().set_online(first, fixture.soon()).unwrap();
    fixture.disks().partition(first, fixture.soon()).unwrap();
    let volumes = fixture.node.operations().volumes();
    let mounted = volumes.sole_on_disk(first, fixture.soon()).unwrap();
    fixture.mount_volume(mounted, STAGING);
    fixture.log_in_again(OPEN);
    let paths = disks().into_iter().map(|disk| {
        let query = Query::all(partition::CLASS.name, &[partition::ACCESS_PATHS.name])
            .with(partition::DISK_NUMBER.name, Value::uint32(disk.0));
        let rows = fixture.os().storage.query(&query, fixture.soon()).unwrap();
        let basic = rows.last().unwrap();
        basic.properties.get(partition::ACCESS_PATHS.name).cloned()
    });
    let paths: Vec<_> = paths.collect();
    let query = Query::all(volume::CLASS.name, &[])
        .with(volume::UNIQUE_ID.name, Value::text(mounted.to_string()));
    let volumes = fixture.os().storage.query(&query, fixture.soon());
    assert_eq!(volumes.unwrap().len(), 1);
    let is_empty = |paths: &Option<Value>| match paths {
        Some(Value::Array(paths)) => paths.is_empty(),
        _ => true,
    };
    assert_eq!(
        paths.iter().map(is_empty).collect::<Vec<_>>(),
        [false, true],
        "{paths:?}"
    );
}
