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

use crate::support::{DATA, GIB, Rig, meddle};

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
fn arrived() -> Rig {
    let spec = NodeSpec::named("node-1").san_policy(SanPolicy::OfflineAll);
    let rig = Rig::of(&spec, Options::default());
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, GIB);
    rig
}

/// A disk with a volume, which is offline and writable.
fn released() -> Rig {
    let rig = Rig::with_volume();
    rig.disks().take_offline(&found(&rig), rig.soon()).unwrap();
    rig
}

fn found(rig: &Rig) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    rig.disks().find(&wanted, rig.soon()).unwrap()
}

fn bring_online_read_only(rig: &Rig) -> Result<(), DiskError> {
    rig.disks().bring_online_read_only(&found(rig), rig.soon())
}

fn attributes(rig: &Rig) -> DiskAttributes {
    rig.os().disks.attributes(rig.disk()).unwrap()
}

/// Of all that happened, what was done to the disk and its volumes.
fn steps(rig: &Rig, act: impl FnOnce()) -> Vec<&'static str> {
    let trace = rig.trace(act);
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
    for (rig, expected) in offline {
        let done = steps(&rig, || bring_online_read_only(&rig).unwrap());
        assert_eq!(done, expected);
        assert_eq!(attributes(&rig), UP_READ_ONLY);
        let again = steps(&rig, || bring_online_read_only(&rig).unwrap());
        assert_eq!(again, [""; 0]);
    }
}

#[test]
fn a_writable_disk_that_nobody_uses_goes_offline_first() {
    let rig = Rig::with_volume();
    let done = steps(&rig, || bring_online_read_only(&rig).unwrap());
    let expected = [LOCK, DISMOUNT, OFFLINE, PAST_THE_PROVIDER, ONLINE];
    assert_eq!(done, expected);
    assert_eq!(attributes(&rig), UP_READ_ONLY);
    assert_eq!(rig.open(), Counts::default());
    let volumes = rig.volumes();
    assert_eq!(volumes.is_formatted(rig.volume(), rig.soon()), Ok(true));
    rig.disks().bring_online(&found(&rig), rig.soon()).unwrap();
    assert_eq!(attributes(&rig), UP);
}

/// That it was not changed shows by what was done, and by what it is.
fn refused(rig: &Rig, volume: VolumeId, obstacle: Obstacle, expected: &[&str]) {
    let mut refused = Ok(());
    let mut done = steps(rig, || refused = bring_online_read_only(rig));
    let disk = rig.disk();
    let writable = DiskError::OnlineWritable {
        disk,
        volume,
        obstacle,
    };
    assert_eq!(refused, Err(writable));
    done.dedup();
    assert_eq!(done, expected);
    assert_eq!(attributes(rig), UP);
    assert_eq!(rig.open(), Counts::default());
    let error = NodeApi::disks(&rig.node).bring_online_read_only(&found(rig), rig.soon());
    assert!(error.unwrap_err().is(Condition::OnlineWritable));
}

#[test]
fn a_writable_disk_whose_volume_is_mounted_or_in_use_is_left_as_it_is() {
    let rig = Rig::with_mounted_volume();
    refused(&rig, rig.volume(), Obstacle::AccessPath, &[]);
    assert_eq!(rig.precious(), "precious");
    let rig = Rig::with_volume();
    let volume = rig.volume();
    let held = rig.sim.hold(volume);
    refused(&rig, volume, Obstacle::OpenFile, &[LOCK]);
    drop(held);
    bring_online_read_only(&rig).unwrap();
}

#[test]
fn what_would_write_to_it_is_refused_as_read_only() {
    let read_only = |refused: Result<(), Error>| {
        let error = refused.unwrap_err();
        assert!(error.is(Condition::ReadOnly), "{error}");
    };
    let rig = arrived();
    bring_online_read_only(&rig).unwrap();
    let api: &dyn NodeApi = &rig.node;
    read_only(api.disks().partition(&found(&rig), rig.soon()));
    assert_eq!(attributes(&rig), UP_READ_ONLY, "blank, and so it stays");

    let rig = Rig::with_data_disk();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    bring_online_read_only(&rig).unwrap();
    let api: &dyn NodeApi = &rig.node;
    let volume = api.volumes().find_on(&found(&rig), rig.soon()).unwrap();
    let ntfs = FormatOptions::default();
    let volumes = api.volumes();
    read_only(volumes.format(&volume, rig.soon()));
    let formatted = volumes.ensure_formatted(&volume, &ntfs, rig.soon());
    read_only(formatted.map(drop));

    let rig = Rig::with_volume();
    bring_online_read_only(&rig).unwrap();
    rig.sim.hardware().grow_disk(DATA, 8 * GIB).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    let api: &dyn NodeApi = &rig.node;
    let volume = api.volumes().find_on(&found(&rig), rig.soon()).unwrap();
    let volumes = api.volumes();
    let formatted = volumes.ensure_formatted(&volume, &FormatOptions::default(), rig.soon());
    formatted.unwrap();
    let resized = volumes.resize(&volume, NewSize::Maximum, rig.soon());
    read_only(resized.map(drop));
}

#[test]
fn a_disk_that_cannot_be_made_read_only_does_not_come_online() {
    let rig = released();
    let denied = Rule::on(PAST_THE_PROVIDER, Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied);
    let done = steps(&rig, || drop(bring_online_read_only(&rig).unwrap_err()));
    assert_eq!(done, [PAST_THE_PROVIDER]);
    assert!(attributes(&rig).offline);
}

/// Whether it is read-only is looked at twice: before it comes online, and after.
#[test]
fn a_disk_that_stays_writable_is_offline_in_the_end() {
    let switches: [(&str, &[&str]); 2] = [
        ("Disks::set_access", &[PAST_THE_PROVIDER]),
        (disk::ONLINE.name, &[PAST_THE_PROVIDER, ONLINE, OFFLINE]),
    ];
    for (moment, expected) in switches {
        let rig = released();
        let (disk, os) = (rig.disk(), rig.os().clone());
        let node = meddle::node(&rig, |meddled| {
            meddle::after(meddled, moment, move || {
                os.disks.set_access(disk, DiskAccess::ReadWrite).unwrap();
            });
        });
        let disks = node.operations().disks();
        let mut stays = Ok(());
        let mut done = steps(&rig, || {
            stays = disks.bring_online_read_only(&found(&rig), rig.soon());
        });
        // The meddler's own is one of them.
        let meddled = done.iter().rposition(|name| *name == PAST_THE_PROVIDER);
        done.remove(meddled.unwrap());
        assert_eq!(done, expected);
        assert_eq!(stays, Err(DiskError::StaysWritable { disk }), "{moment}");
        assert!(attributes(&rig).offline, "{moment}");
    }
}
