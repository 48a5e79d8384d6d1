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

use crate::support::{DATA, GIB, NodeFixture, inject};

const FLUSH: &str = "FlushFileBuffers";
const LOCK: &str = "FSCTL_LOCK_VOLUME";
const DISMOUNT: &str = "FSCTL_DISMOUNT_VOLUME";
const OFFLINE: &str = "MSFT_Disk.Offline";

fn found(fixture: &NodeFixture) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    fixture.disks().find(&wanted, fixture.soon()).unwrap()
}

fn take_offline(fixture: &NodeFixture, disk: &FoundDisk) -> Result<(), DiskError> {
    fixture.disks().take_offline(disk, fixture.soon())
}

fn is_online(fixture: &NodeFixture) -> bool {
    fixture
        .disks()
        .is_online(fixture.disk(), fixture.soon())
        .unwrap()
}

/// Of all that an operation did, what it did to volumes and the disk.
fn steps(fixture: &NodeFixture, act: impl FnOnce()) -> Vec<&'static str> {
    let trace = fixture.trace(act);
    let names = trace.iter().map(|op| op.operation);
    names
        .filter(|name| [FLUSH, LOCK, DISMOUNT, OFFLINE].contains(name))
        .collect()
}

/// A second partition, behind the first, and its volume.
fn add_volume(fixture: &NodeFixture) -> VolumeId {
    make_room(fixture);
    add_partition(fixture.os(), fixture.disk());
    let volumes = fixture.volumes();
    let listed = volumes
        .list_on_disk(fixture.disk(), None, fixture.soon())
        .unwrap();
    let [_, second] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    *second
}

fn make_room(fixture: &NodeFixture) {
    fixture.grow(DATA, 8 * GIB);
    fixture.rescan();
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
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    let done = steps(&fixture, || take_offline(&fixture, &disk).unwrap());
    assert_eq!(done, [FLUSH, LOCK, DISMOUNT, OFFLINE]);
    assert!(!is_online(&fixture));
    assert_eq!(fixture.open(), Counts::default());
    let again = steps(&fixture, || take_offline(&fixture, &disk).unwrap());
    assert_eq!(again, [""; 0]);
    fixture.disks().bring_online(&disk, fixture.soon()).unwrap();
    assert_eq!(fixture.precious(), "precious");
}

#[test]
fn a_volume_with_an_access_path_keeps_its_disk_online() {
    let fixture = NodeFixture::with_mounted_volume();
    let (disk, volume) = (found(&fixture), fixture.volume());
    let number = fixture.disk();
    let done = steps(&fixture, || {
        let mounted = DiskError::Mounted {
            disk: number,
            volume,
        };
        assert_eq!(take_offline(&fixture, &disk), Err(mounted));
    });
    assert_eq!(done, [""; 0]);
    let disks = NodeApi::disks(&fixture.node);
    let refused = disks.take_offline(&disk, fixture.soon()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::InUse));
    assert!(is_online(&fixture));
}

/// Unwritten data would be lost: so nothing is dismounted, and the disk stays online.
#[test]
fn a_volume_that_is_in_use_keeps_its_disk_online() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let (disk, volume) = (found(&fixture), fixture.volume());
    let held = fixture.hold(volume);
    let before = fixture.os().clock.now();
    let done = steps(&fixture, || {
        let refused = take_offline(&fixture, &disk);
        let in_use = Box::new(VolumeError::InUse { volume });
        assert_eq!(refused, Err(DiskError::Volume(in_use)));
    });
    assert_eq!(done[..2], [FLUSH, LOCK]);
    assert!(done[1..].iter().all(|name| *name == LOCK), "{done:?}");
    assert!(before.until(fixture.os().clock.now()) >= Duration::from_secs(10));
    assert!(is_online(&fixture));
    assert_eq!(fixture.open(), Counts::default());

    let disks = NodeApi::disks(&fixture.node);
    let refused = disks.take_offline(&disk, fixture.soon()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::InUse));
    let expected = format!(
        "offline disk {}: volume {volume} is in use: files or folders on it are open",
        fixture.disk()
    );
    assert_eq!(refused.to_string(), expected);

    drop(held);
    take_offline(&fixture, &disk).unwrap();
    assert!(!is_online(&fixture));
}

#[test]
fn what_is_closed_within_a_while_is_waited_for() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    let busy = Rule::on(LOCK, Effect::fail(Win32::ACCESS_DENIED)).times(3);
    fixture.fault(busy);
    let done = steps(&fixture, || take_offline(&fixture, &disk).unwrap());
    assert_eq!(done, [FLUSH, LOCK, LOCK, LOCK, LOCK, DISMOUNT, OFFLINE]);
}

#[test]
fn no_volume_of_a_disk_is_dismounted_while_one_is_in_use() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let volumes = [fixture.volume(), add_volume(&fixture)];
    let disk = found(&fixture);
    for held in volumes {
        let hold = fixture.hold(held);
        let done = steps(&fixture, || {
            drop(take_offline(&fixture, &disk).unwrap_err())
        });
        assert_eq!(done[..2], [FLUSH, FLUSH]);
        assert!(done[2..].iter().all(|name| *name == LOCK), "{done:?}");
        drop(hold);
    }
    let done = steps(&fixture, || take_offline(&fixture, &disk).unwrap());
    let all = [FLUSH, FLUSH, LOCK, LOCK, DISMOUNT, DISMOUNT, OFFLINE];
    assert_eq!(done, all);
}

/// Its lock was not taken with those of the volumes that were seen first.
#[test]
fn a_volume_that_comes_while_the_locks_are_taken_is_dismounted_too() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    make_room(&fixture);
    let (disk, number, os) = (found(&fixture), fixture.disk(), fixture.os().clone());
    let node = inject::node(&fixture, |seen| {
        let list = "Volumes::list";
        inject::before(seen, list, 2, move || {
            add_partition(&os, number);
            // The volume comes late.
            os.clock.sleep(Duration::from_secs(10));
        });
    });
    let done = steps(&fixture, || {
        let disks = node.operations().disks();
        disks.take_offline(&disk, fixture.soon()).unwrap();
    });
    let all = [FLUSH, FLUSH, LOCK, LOCK, DISMOUNT, DISMOUNT, OFFLINE];
    assert_eq!(done, all);
}

#[test]
fn a_disk_whose_cache_cannot_be_written_stays_online() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    fixture.fail(FLUSH, Win32::IO_DEVICE);
    let done = steps(&fixture, || {
        drop(take_offline(&fixture, &disk).unwrap_err())
    });
    assert_eq!(done, [FLUSH]);
    assert!(is_online(&fixture));
}

#[test]
fn nothing_is_cached_for_a_read_only_volume_or_one_without_a_filesystem() {
    let read_only = NodeFixture::with_mounted_volume().unmounted();
    read_only.make_read_only();
    let disk = found(&read_only);
    take_offline(&read_only, &disk).unwrap();

    let raw = NodeFixture::with_data_disk();
    raw.node
        .operations()
        .disks()
        .partition(raw.disk(), raw.soon())
        .unwrap();
    raw.fail(FLUSH, Win32::INVALID_FUNCTION);
    let disk = found(&raw);
    take_offline(&raw, &disk).unwrap();
    assert!(!is_online(&raw));
}

#[test]
fn a_volume_that_does_not_say_where_it_is_may_be_on_the_disk() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    let silent = "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS";
    fixture.fail(silent, Win32::IO_DEVICE);
    let refused = take_offline(&fixture, &disk);
    assert!(
        matches!(refused, Err(DiskError::Visibility(_))),
        "{refused:?}"
    );
    assert!(is_online(&fixture));
}

/// It became one between the look-up and the call.
#[test]
fn a_disk_that_is_never_written_stays_online() {
    let disk = found(&NodeFixture::with_mounted_volume().unmounted());
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files = vec![format!(r"{}\page.sys", crate::support::STAGING)];
    let fixture = NodeFixture::with_mounted_volume_on(&spec);
    let done = steps(&fixture, || {
        let expected = DiskError::Guarded {
            disk: fixture.disk(),
            reason: Guarded::PageFile,
        };
        assert_eq!(take_offline(&fixture, &disk), Err(expected));
    });
    assert_eq!(done, [""; 0]);
}

#[test]
fn a_disk_that_windows_says_is_offline_and_is_not_is_told() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let (disk, number) = (found(&fixture), fixture.disk());
    let empty_word = Effect::Answer(os::Outcome::of(0));
    fixture.fault(Rule::on(OFFLINE, empty_word));
    let refused = take_offline(&fixture, &disk);
    assert_eq!(refused, Err(DiskError::StaysOnline { disk: number }));
}

/// Nobody has seen what Windows answers while volumes are locked.
#[test]
fn a_disk_that_windows_refuses_to_take_offline_stays_online_and_is_in_use() {
    let codes = [2, 4, 6, 40_001].map(|code| Effect::Answer(os::Outcome::of(code)));
    let failures = [5, 32, 170].map(|code| Effect::fail(Win32(code)));
    for refusal in codes.into_iter().chain(failures) {
        let fixture = NodeFixture::with_mounted_volume().unmounted();
        let disk = found(&fixture);
        fixture.fault(Rule::on(OFFLINE, refusal));
        let disks = NodeApi::disks(&fixture.node);
        let refused = disks.take_offline(&disk, fixture.soon()).unwrap_err();
        assert_eq!(refused.condition(), Some(Condition::InUse), "{refused}");
        assert!(is_online(&fixture));
        assert_eq!(fixture.open(), Counts::default());
        assert_eq!(fixture.precious(), "precious");
    }
}

#[test]
fn a_refusal_that_names_another_reason_keeps_it() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    let critical = Effect::Answer(os::Outcome::of(41_009));
    fixture.fault(Rule::on(OFFLINE, critical));
    let disks = NodeApi::disks(&fixture.node);
    let refused = disks.take_offline(&disk, fixture.soon()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::Guarded), "{refused}");
}

/// Callers who unstage take a disk that is not found for gone.
#[test]
fn a_disk_that_the_provider_lost_is_not_gone() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    let lost = Effect::Answer(os::Outcome::of(8));
    fixture.fault(Rule::on(OFFLINE, lost));
    let disks = NodeApi::disks(&fixture.node);
    let refused = disks.take_offline(&disk, fixture.soon()).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::OutOfDate), "{refused}");
    assert!(is_online(&fixture));
}

#[test]
fn a_volume_is_locked_while_its_disk_goes_offline() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let (disk, volume, volumes) = (
        found(&fixture),
        fixture.volume(),
        fixture.os().volumes.clone(),
    );
    let (with_text_error, locked) = std::sync::mpsc::channel();
    let node = inject::node(&fixture, |seen| {
        inject::before(seen, "Provider::invoke", 1, move || {
            with_text_error.send(volumes.lock(volume).err()).unwrap();
        });
    });
    let disks = node.operations().disks();
    disks.take_offline(&disk, fixture.soon()).unwrap();
    let refusals: Vec<_> = locked.try_iter().collect();
    let [Some(refusal)] = refusals.as_slice() else {
        panic!("{refusals:?}");
    };
    assert_eq!(refusal.win32(), Some(Win32::ACCESS_DENIED));
    assert!(!is_online(&fixture));
}

#[test]
fn a_disk_that_was_pulled_out_is_not_found() {
    let fixture = NodeFixture::with_mounted_volume().unmounted();
    let disk = found(&fixture);
    fixture.hardware().detach_disk(DATA).unwrap();
    let disks = NodeApi::disks(&fixture.node);
    let gone = disks.take_offline(&disk, fixture.soon()).unwrap_err();
    assert_eq!(gone.condition(), Some(Condition::NotFound), "{gone}");
}
