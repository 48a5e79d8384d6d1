//! Disks that are brought online for readers alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::schema::disk;
use os::{DiskAccess, DiskAttributes, VolumeId, Win32};
use os_meter::Counts;
use os_sim::{Bus, DiskSpec, Effect, NodeSpec, Rule, SanPolicy};
use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, FoundDisk, NewSize, Obstacle, Options,
    SerialNumber,
};

use crate::support::{DATA, GIB, NodeFixture, inject, path};

const LOCK: &str = "FSCTL_LOCK_VOLUME";
const DISMOUNT: &str = "FSCTL_DISMOUNT_VOLUME";
const OFFLINE: &str = "MSFT_Disk.Offline";
const ONLINE: &str = "MSFT_Disk.Online";
const PAST_THE_PROVIDER: &str = "IOCTL_DISK_SET_DISK_ATTRIBUTES";

const UP: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: false,
};

const UP_READ_ONLY: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: true,
};

/// A disk that arrives offline and read-only.
fn arrived() -> NodeFixture {
    let spec = NodeSpec::named("node-1").san_policy(SanPolicy::OfflineAll);
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, GIB);
    fixture
}

/// A disk with a volume, which is offline and writable.
fn released() -> NodeFixture {
    let fixture = NodeFixture::with_volume();
    fixture
        .disks()
        .take_offline(&found(&fixture), fixture.soon())
        .unwrap();
    fixture
}

fn found(fixture: &NodeFixture) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    fixture.disks().find(&wanted, fixture.soon()).unwrap()
}

fn bring_online_read_only(fixture: &NodeFixture) -> Result<(), DiskError> {
    fixture
        .disks()
        .bring_online_read_only(&found(fixture), fixture.soon())
}

fn attributes(fixture: &NodeFixture) -> DiskAttributes {
    fixture.attributes()
}

/// Of all that happened, what was done to the disk and its volumes.
fn steps(fixture: &NodeFixture, act: impl FnOnce()) -> Vec<&'static str> {
    let trace = fixture.trace(act);
    let names = trace.iter().map(|op| op.operation);
    let steps = [LOCK, DISMOUNT, OFFLINE, ONLINE, PAST_THE_PROVIDER];
    names.filter(|name| steps.contains(name)).collect()
}

#[test]
fn a_disk_is_read_only_before_it_comes_online() {
    let offline = [
        (arrived(), vec![ONLINE]),
        (released(), vec![PAST_THE_PROVIDER, ONLINE]),
    ];
    for (fixture, expected) in offline {
        let done = steps(&fixture, || bring_online_read_only(&fixture).unwrap());
        assert_eq!(done, expected);
        assert_eq!(attributes(&fixture), UP_READ_ONLY);
        let again = steps(&fixture, || bring_online_read_only(&fixture).unwrap());
        assert_eq!(again, [""; 0]);
    }
}

#[test]
fn a_writable_disk_that_nobody_uses_goes_offline_first() {
    let fixture = NodeFixture::with_volume();
    let done = steps(&fixture, || bring_online_read_only(&fixture).unwrap());
    let expected = [LOCK, DISMOUNT, OFFLINE, PAST_THE_PROVIDER, ONLINE];
    assert_eq!(done, expected);
    assert_eq!(attributes(&fixture), UP_READ_ONLY);
    assert_eq!(fixture.open(), Counts::default());
    let volumes = fixture.volumes();
    assert_eq!(
        volumes.is_formatted(fixture.volume(), fixture.soon()),
        Ok(true)
    );
    fixture
        .disks()
        .bring_online(&found(&fixture), fixture.soon())
        .unwrap();
    assert_eq!(attributes(&fixture), UP);
}

/// Both the operations and the disk's state must show that it was not changed.
fn refused(fixture: &NodeFixture, volume: VolumeId, obstacle: Obstacle, expected: &[&str]) {
    let mut refused = Ok(());
    let mut done = steps(fixture, || refused = bring_online_read_only(fixture));
    let disk = fixture.disk();
    let writable = DiskError::OnlineWritable {
        disk,
        volume,
        obstacle,
    };
    assert_eq!(refused, Err(writable));
    done.dedup();
    assert_eq!(done, expected);
    assert_eq!(attributes(fixture), UP);
    assert_eq!(fixture.open(), Counts::default());
    let error =
        NodeApi::disks(&fixture.node).bring_online_read_only(&found(fixture), fixture.soon());
    assert!(error.unwrap_err().is(Condition::OnlineWritable));
}

#[test]
fn a_writable_disk_whose_volume_is_mounted_or_in_use_is_left_as_it_is() {
    let fixture = NodeFixture::with_mounted_volume();
    refused(&fixture, fixture.volume(), Obstacle::AccessPath, &[]);
    assert_eq!(fixture.precious(), "precious");
    let fixture = NodeFixture::with_volume();
    let volume = fixture.volume();
    let held = fixture.hold(volume);
    refused(&fixture, volume, Obstacle::OpenFile, &[LOCK]);
    drop(held);
    bring_online_read_only(&fixture).unwrap();
}

#[test]
fn what_would_write_to_it_is_refused_as_read_only() {
    let read_only = |refused: Result<(), Error>| {
        let error = refused.unwrap_err();
        assert!(error.is(Condition::ReadOnly), "{error}");
    };
    let fixture = arrived();
    bring_online_read_only(&fixture).unwrap();
    let api: &dyn NodeApi = &fixture.node;
    read_only(api.disks().partition(&found(&fixture), fixture.soon()));
    assert_eq!(attributes(&fixture), UP_READ_ONLY, "blank, and so it stays");

    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    bring_online_read_only(&fixture).unwrap();
    let api: &dyn NodeApi = &fixture.node;
    let volume = api
        .volumes()
        .find_on(&found(&fixture), fixture.soon())
        .unwrap();
    let ntfs = FormatOptions::default();
    let volumes = api.volumes();
    read_only(volumes.format(&volume, fixture.soon()));
    let formatted = volumes.ensure_formatted(&volume, &ntfs, fixture.soon());
    read_only(formatted.map(drop));

    let fixture = NodeFixture::with_volume();
    bring_online_read_only(&fixture).unwrap();
    fixture.grow(DATA, 8 * GIB);
    fixture.rescan();
    let api: &dyn NodeApi = &fixture.node;
    let volume = api
        .volumes()
        .find_on(&found(&fixture), fixture.soon())
        .unwrap();
    let volumes = api.volumes();
    let formatted = volumes.ensure_formatted(&volume, &FormatOptions::default(), fixture.soon());
    formatted.unwrap();
    let resized = volumes.resize(&volume, NewSize::Maximum, fixture.soon());
    read_only(resized.map(drop));
}

#[test]
fn a_disk_that_cannot_be_made_read_only_does_not_come_online() {
    let fixture = released();
    fixture.fail(PAST_THE_PROVIDER, Win32::ACCESS_DENIED);
    let done = steps(&fixture, || {
        drop(bring_online_read_only(&fixture).unwrap_err())
    });
    assert_eq!(done, [PAST_THE_PROVIDER]);
    assert!(attributes(&fixture).offline);
}

/// No caller wanted it offline.
#[test]
fn a_writable_disk_that_cannot_be_made_read_only_is_online_again() {
    let denied = Rule::on(PAST_THE_PROVIDER, Effect::fail(Win32::ACCESS_DENIED));
    let fixture = NodeFixture::with_volume();
    fixture.fault(denied);
    let done = steps(&fixture, || {
        drop(bring_online_read_only(&fixture).unwrap_err())
    });
    let expected = [LOCK, DISMOUNT, OFFLINE, PAST_THE_PROVIDER, ONLINE];
    assert_eq!(done, expected);
    assert_eq!(attributes(&fixture), UP);
    assert_eq!(fixture.open(), Counts::default());
}

/// Another process mounts it, between the first look and the lock of the volume.
#[test]
fn a_volume_that_gets_a_path_before_it_is_locked_is_left_as_it_is() {
    let fixture = NodeFixture::with_volume();
    let (volume, os) = (fixture.volume(), fixture.os().clone());
    let folder = path(r"C:\mounted");
    os.files.create_directory(&folder).unwrap();
    let node = inject::node(&fixture, |injected| {
        inject::before(injected, "Volumes::lock", 1, move || {
            os.volumes.set_mount_point(&folder, volume).unwrap();
        });
    });
    let disks = node.operations().disks();
    let mut refused = Ok(());
    let done = steps(&fixture, || {
        refused = disks.bring_online_read_only(&found(&fixture), fixture.soon());
    });
    let writable = DiskError::OnlineWritable {
        disk: fixture.disk(),
        volume,
        obstacle: Obstacle::AccessPath,
    };
    assert_eq!(refused, Err(writable));
    assert_eq!(done, [LOCK]);
    assert_eq!(attributes(&fixture), UP);
}

/// Whether it is read-only is looked at twice: before it comes online, and after.
#[test]
fn a_disk_that_stays_writable_is_offline_in_the_end() {
    let switches: [(&str, &[&str]); 2] = [
        ("Disks::set_access", &[PAST_THE_PROVIDER]),
        (disk::ONLINE.name, &[PAST_THE_PROVIDER, ONLINE, OFFLINE]),
    ];
    for (moment, expected) in switches {
        let fixture = released();
        let (disk, os) = (fixture.disk(), fixture.os().clone());
        let node = inject::node(&fixture, |injected| {
            inject::after(injected, moment, move || {
                os.disks.set_access(disk, DiskAccess::ReadWrite).unwrap();
            });
        });
        let disks = node.operations().disks();
        let mut stays = Ok(());
        let mut done = steps(&fixture, || {
            stays = disks.bring_online_read_only(&found(&fixture), fixture.soon());
        });
        // The meddler's own is one of them.
        let injected = done.iter().rposition(|name| *name == PAST_THE_PROVIDER);
        done.remove(injected.unwrap());
        assert_eq!(done, expected);
        assert_eq!(stays, Err(DiskError::StaysWritable { disk }), "{moment}");
        assert!(attributes(&fixture).offline, "{moment}");
    }
}
