//! Taking a disk offline that somebody may still use.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use os::schema::disk;
use os::schema::partition::gpt_type;
use os::{Arguments, Deadline, DiskNumber, Os, Query, Target, Value, VolumeId, Win32};
use os_meter::Counts;
use os_sim::{Effect, NodeSpec, Rule, SanPolicy};
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Guarded, SerialNumber, VolumeError};

use crate::support::{DATA, GIB, Rig, meddle};

const FLUSH: &str = "FlushFileBuffers";
const LOCK: &str = "FSCTL_LOCK_VOLUME";
const DISMOUNT: &str = "FSCTL_DISMOUNT_VOLUME";
const OFFLINE: &str = "MSFT_Disk.Offline";

fn found(rig: &Rig) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    rig.disks().find(&wanted, rig.soon()).unwrap()
}

fn take_offline(rig: &Rig, disk: &FoundDisk) -> Result<(), DiskError> {
    rig.disks().take_offline(disk, rig.soon())
}

fn is_online(rig: &Rig) -> bool {
    rig.disks().is_online(rig.disk(), rig.soon()).unwrap()
}

/// Of all that an operation did, what it did to volumes and the disk.
fn steps(rig: &Rig, act: impl FnOnce()) -> Vec<&'static str> {
    let trace = rig.trace(act);
    let names = trace.iter().map(|op| op.operation);
    names
        .filter(|name| [FLUSH, LOCK, DISMOUNT, OFFLINE].contains(name))
        .collect()
}

/// A second partition, behind the first, and its volume.
fn add_volume(rig: &Rig) -> VolumeId {
    make_room(rig);
    add_partition(rig.os(), rig.disk());
    let volumes = rig.volumes();
    let listed = volumes.list_on_disk(rig.disk(), None, rig.soon()).unwrap();
    let [_, second] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    *second
}

fn make_room(rig: &Rig) {
    rig.sim.hardware().grow_disk(DATA, 8 * GIB).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
}

fn add_partition(os: &Os, number: DiskNumber) {
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
        .with(disk::NUMBER.name, Value::uint32(number.0));
    let found = os.storage.query(&query, Deadline::NEVER).unwrap();
    let basic_data = Value::text(gpt_type::BASIC_DATA.value);
    let arguments = Arguments::none()
        .with(
            disk::create_partition::USE_MAXIMUM_SIZE.name,
            Value::Bool(true),
        )
        .with(disk::create_partition::GPT_TYPE.name, basic_data);
    let target = Target::Instance(&found[0].path);
    let method = disk::CREATE_PARTITION.name;
    let created = os
        .storage
        .invoke(target, method, &arguments, Deadline::NEVER);
    assert_eq!(created.unwrap().code, 0);
}

#[test]
fn a_volume_is_flushed_locked_and_dismounted_before_its_disk_goes() {
    let rig = Rig::with_mounted_volume();
    let disk = found(&rig);
    let done = steps(&rig, || take_offline(&rig, &disk).unwrap());
    assert_eq!(done, [FLUSH, LOCK, DISMOUNT, OFFLINE]);
    assert!(!is_online(&rig));
    assert_eq!(rig.open(), Counts::default());
    let again = steps(&rig, || take_offline(&rig, &disk).unwrap());
    assert_eq!(again, [""; 0]);
    rig.disks().bring_online(&disk, rig.soon()).unwrap();
    assert_eq!(rig.precious(), "precious");
}

/// What is not written yet would be lost: so nothing is dismounted, and the disk stays.
#[test]
fn a_volume_that_is_in_use_keeps_its_disk_online() {
    let rig = Rig::with_mounted_volume();
    let (disk, volume) = (found(&rig), rig.volume());
    let held = rig.sim.hold(volume);
    let before = rig.os().clock.now();
    let done = steps(&rig, || {
        let refused = take_offline(&rig, &disk);
        let in_use = Box::new(VolumeError::InUse { volume });
        assert_eq!(refused, Err(DiskError::Volume(in_use)));
    });
    assert_eq!(done[..2], [FLUSH, LOCK]);
    assert!(done[1..].iter().all(|name| *name == LOCK), "{done:?}");
    assert!(before.until(rig.os().clock.now()) >= Duration::from_secs(10));
    assert!(is_online(&rig));
    assert_eq!(rig.open(), Counts::default());

    let disks = NodeApi::disks(&rig.node);
    let refused = disks.take_offline(&disk, rig.soon()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::InUse));
    let expected = format!(
        "offline disk {}: volume {volume} is in use: files or folders on it are open",
        rig.disk()
    );
    assert_eq!(refused.to_string(), expected);

    drop(held);
    take_offline(&rig, &disk).unwrap();
    assert!(!is_online(&rig));
}

#[test]
fn what_is_closed_within_a_while_is_waited_for() {
    let rig = Rig::with_mounted_volume();
    let disk = found(&rig);
    let busy = Rule::on(LOCK, Effect::fail(Win32::ACCESS_DENIED)).times(3);
    rig.sim.faults().add(busy);
    let done = steps(&rig, || take_offline(&rig, &disk).unwrap());
    assert_eq!(done, [FLUSH, LOCK, LOCK, LOCK, LOCK, DISMOUNT, OFFLINE]);
}

#[test]
fn no_volume_of_a_disk_is_dismounted_while_one_is_in_use() {
    let rig = Rig::with_mounted_volume();
    let volumes = [rig.volume(), add_volume(&rig)];
    let disk = found(&rig);
    for held in volumes {
        let hold = rig.sim.hold(held);
        let done = steps(&rig, || drop(take_offline(&rig, &disk).unwrap_err()));
        assert_eq!(done[..2], [FLUSH, FLUSH]);
        assert!(done[2..].iter().all(|name| *name == LOCK), "{done:?}");
        drop(hold);
    }
    let done = steps(&rig, || take_offline(&rig, &disk).unwrap());
    let all = [FLUSH, FLUSH, LOCK, LOCK, DISMOUNT, DISMOUNT, OFFLINE];
    assert_eq!(done, all);
}

/// Its lock was not taken with those of the volumes that were seen first.
#[test]
fn a_volume_that_comes_while_the_locks_are_taken_is_dismounted_too() {
    let rig = Rig::with_mounted_volume();
    make_room(&rig);
    let (disk, number, os) = (found(&rig), rig.disk(), rig.os().clone());
    let node = meddle::node(&rig, |seen| {
        let list = "Volumes::list";
        meddle::before(seen, list, 2, move || {
            add_partition(&os, number);
            // The volume comes late.
            os.clock.sleep(Duration::from_secs(10));
        });
    });
    let done = steps(&rig, || {
        let disks = node.operations().disks();
        disks.take_offline(&disk, rig.soon()).unwrap();
    });
    let all = [FLUSH, FLUSH, LOCK, LOCK, DISMOUNT, DISMOUNT, OFFLINE];
    assert_eq!(done, all);
}

#[test]
fn a_disk_whose_cache_cannot_be_written_stays_online() {
    let rig = Rig::with_mounted_volume();
    let disk = found(&rig);
    let broken = Rule::on(FLUSH, Effect::fail(Win32::IO_DEVICE));
    rig.sim.faults().add(broken);
    let done = steps(&rig, || drop(take_offline(&rig, &disk).unwrap_err()));
    assert_eq!(done, [FLUSH]);
    assert!(is_online(&rig));
}

#[test]
fn nothing_is_cached_for_a_read_only_volume_or_one_without_a_filesystem() {
    let read_only = Rig::with_mounted_volume();
    read_only.make_read_only();
    let disk = found(&read_only);
    take_offline(&read_only, &disk).unwrap();

    let raw = Rig::with_data_disk();
    raw.node
        .operations()
        .disks()
        .partition(raw.disk(), raw.soon())
        .unwrap();
    let unknown = Rule::on(FLUSH, Effect::fail(Win32::INVALID_FUNCTION));
    raw.sim.faults().add(unknown);
    let disk = found(&raw);
    take_offline(&raw, &disk).unwrap();
    assert!(!is_online(&raw));
}

#[test]
fn a_volume_that_does_not_say_where_it_is_may_be_on_the_disk() {
    let rig = Rig::with_mounted_volume();
    let disk = found(&rig);
    let silent = "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS";
    let fault = Rule::on(silent, Effect::fail(Win32::IO_DEVICE));
    rig.sim.faults().add(fault);
    let refused = take_offline(&rig, &disk);
    assert!(
        matches!(refused, Err(DiskError::Visibility(_))),
        "{refused:?}"
    );
    assert!(is_online(&rig));
}

/// It became one between the look-up and the call.
#[test]
fn a_disk_that_is_never_written_stays_online() {
    let disk = found(&Rig::with_mounted_volume());
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files = vec![format!(r"{}\page.sys", crate::support::STAGING)];
    let rig = Rig::with_mounted_volume_on(&spec);
    let done = steps(&rig, || {
        let expected = DiskError::Guarded {
            disk: rig.disk(),
            reason: Guarded::PageFile,
        };
        assert_eq!(take_offline(&rig, &disk), Err(expected));
    });
    assert_eq!(done, [""; 0]);
}

#[test]
fn a_disk_that_windows_says_is_offline_and_is_not_is_told() {
    let rig = Rig::with_mounted_volume();
    let (disk, number) = (found(&rig), rig.disk());
    let empty_word = Effect::Answer(os::Outcome::of(0));
    rig.sim.faults().add(Rule::on(OFFLINE, empty_word));
    let refused = take_offline(&rig, &disk);
    assert_eq!(refused, Err(DiskError::StaysOnline { disk: number }));
}

/// Nobody has seen what Windows answers while volumes are locked.
#[test]
fn a_disk_that_windows_refuses_to_take_offline_stays_online_and_is_in_use() {
    let codes = [2, 4, 6, 40_001].map(|code| Effect::Answer(os::Outcome::of(code)));
    let failures = [5, 32, 170].map(|code| Effect::fail(Win32(code)));
    for refusal in codes.into_iter().chain(failures) {
        let rig = Rig::with_mounted_volume();
        let disk = found(&rig);
        rig.sim.faults().add(Rule::on(OFFLINE, refusal));
        let disks = NodeApi::disks(&rig.node);
        let refused = disks.take_offline(&disk, rig.soon()).unwrap_err();
        assert_eq!(refused.condition(), Some(Condition::InUse), "{refused}");
        assert!(is_online(&rig));
        assert_eq!(rig.open(), Counts::default());
        assert_eq!(rig.precious(), "precious");
    }
}

#[test]
fn a_refusal_that_names_another_reason_keeps_it() {
    let rig = Rig::with_mounted_volume();
    let disk = found(&rig);
    let critical = Effect::Answer(os::Outcome::of(41_009));
    rig.sim.faults().add(Rule::on(OFFLINE, critical));
    let disks = NodeApi::disks(&rig.node);
    let refused = disks.take_offline(&disk, rig.soon()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::Guarded), "{refused}");
}

#[test]
fn a_volume_is_locked_while_its_disk_goes_offline() {
    let rig = Rig::with_mounted_volume();
    let (disk, volume, volumes) = (found(&rig), rig.volume(), rig.os().volumes.clone());
    let (told, locked) = std::sync::mpsc::channel();
    let node = meddle::node(&rig, |seen| {
        meddle::before(seen, "Provider::invoke", 1, move || {
            told.send(volumes.lock(volume).err()).unwrap();
        });
    });
    let disks = node.operations().disks();
    disks.take_offline(&disk, rig.soon()).unwrap();
    let refusals: Vec<_> = locked.try_iter().collect();
    let [Some(refusal)] = refusals.as_slice() else {
        panic!("{refusals:?}");
    };
    assert_eq!(refusal.win32(), Some(Win32::ACCESS_DENIED));
    assert!(!is_online(&rig));
}

#[test]
fn a_disk_that_was_pulled_out_is_not_found() {
    let rig = Rig::with_mounted_volume();
    let disk = found(&rig);
    rig.sim.hardware().detach_disk(DATA).unwrap();
    let disks = NodeApi::disks(&rig.node);
    let gone = disks.take_offline(&disk, rig.soon()).unwrap_err();
    assert_eq!(gone.condition(), Some(Condition::NotFound), "{gone}");
}
