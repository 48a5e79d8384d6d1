//! By what a disk of the storage provider is known to be the kernel's: its path, and without one its
//! length and a name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;

use os::schema::disk;
use os::{DiskNumber, Instance, Value, Win32};
use os_sim::{Bus, Content, DiskSpec, Effect, IdentifierKind, IdentifierPage, Op, Rule};
use wincsi_node::api::{Cause, Condition, Error};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Node, Page83, SerialNumber};

use crate::support::{DATA, GIB, Rig, meddle};

const OTHER: &str = "other";

/// What a node reads of a device's number.
const NUMBER_OF_PATH: &str = "IOCTL_STORAGE_GET_DEVICE_NUMBER";

/// A rig with one disk like this.
fn rig(spec: &DiskSpec) -> Rig {
    let rig = Rig::new();
    rig.plug(spec, DATA, GIB);
    rig
}

fn usual() -> DiskSpec {
    DiskSpec::on(Bus::Sas).serial(DATA).lun(1)
}

/// Operations on a node whose storage provider says something else.
fn told(rig: &Rig, rewrite: fn(&mut Instance)) -> Node {
    meddle::node(rig, |os| {
        let provider = Arc::clone(&os.storage);
        os.storage = Arc::new(meddle::Rewritten { provider, rewrite });
    })
}

fn say(row: &mut Instance, property: &str, value: Value) {
    if let Some(said) = row.properties.get_mut(property) {
        *said = value;
    }
}

fn without_path(row: &mut Instance) {
    say(row, disk::PATH.name, Value::Null);
}

/// The disk at this LUN, by the kernel.
fn at_lun(rig: &Rig, lun: u8) -> DiskNumber {
    let disks = &rig.os().disks;
    let mut numbers = disks.list().unwrap().into_iter();
    let is_it = |number: &DiskNumber| {
        let address = disks.scsi_address(*number);
        address.is_ok_and(|address| address.lun == lun)
    };
    numbers.find(is_it).unwrap()
}

fn is_offline(rig: &Rig, number: DiskNumber) -> bool {
    rig.os().disks.attributes(number).unwrap().offline
}

/// The disk is held for the same one, and switched.
#[track_caller]
fn taken(rig: &Rig, node: &Node, number: DiskNumber) {
    node.operations()
        .disks()
        .set_offline(number, rig.soon())
        .unwrap();
    assert!(is_offline(rig, number));
}

/// The disk is held for another one, and nothing is done to any.
#[track_caller]
fn left(rig: &Rig, node: &Node, number: DiskNumber) {
    let trace = rig.trace(|| {
        let refused = node.operations().disks().set_offline(number, rig.soon());
        let is_it = matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number);
        assert!(is_it, "{refused:?}");
    });
    assert!(!trace.iter().any(|op| op.operation == "MSFT_Disk.Offline"));
}

/// Disks of one length at LUN 1 and 2; the one of LUN 2 took the number of the other, which came back
/// under the next, and the provider has not heard of it.
fn swapped(spec: fn(u8) -> DiskSpec) -> (Rig, DiskNumber) {
    let rig = rig(&spec(1));
    let number = at_lun(&rig, 1);
    let hardware = rig.sim.hardware();
    let blank = Content::blank(GIB);
    hardware.detach_disk(DATA).unwrap();
    rig.os().disks.list().unwrap();
    hardware.attach_disk(OTHER, &spec(2), &blank).unwrap();
    rig.os().disks.list().unwrap();
    hardware.attach_disk(DATA, &spec(1), &blank).unwrap();
    assert_eq!(at_lun(&rig, 2), number, "the number is reused");
    (rig, number)
}

/// Another disk of the same length in the slot of the rig's, of which the provider has not heard.
fn replace(rig: &Rig, later: &DiskSpec) -> DiskNumber {
    let (hardware, number) = (rig.sim.hardware(), at_lun(rig, 1));
    hardware.detach_disk(DATA).unwrap();
    rig.os().disks.list().unwrap();
    hardware
        .attach_disk(DATA, later, &Content::blank(GIB))
        .unwrap();
    rig.os().disks.list().unwrap();
    assert_eq!(at_lun(rig, 1), number, "the number is reused");
    number
}

fn serial(text: &str) -> Criterion {
    Criterion::Serial(SerialNumber::parse(text).unwrap())
}

fn find(rig: &Rig, known: Vec<Criterion>) -> Result<FoundDisk, DiskError> {
    let wanted = DiskQuery::all(known).unwrap();
    rig.disks().find(&wanted, rig.soon())
}

#[track_caller]
fn condition(found: Result<FoundDisk, DiskError>) -> Option<Condition> {
    let cause: Cause = found.unwrap_err().into();
    Error::new("find", "it", cause).condition()
}

/// Without a rescan the swap is refused; with one the kernel's disk is switched.
#[track_caller]
fn told_apart(rig: &Rig, node: &Node, number: DiskNumber) {
    let rescan = Rule::on("*UpdateHostStorageCache", Effect::fail(Win32::GEN_FAILURE));
    let stuck = rig.sim.faults().add(rescan);
    node.operations()
        .disks()
        .set_offline(number, rig.soon())
        .unwrap_err();
    assert!(!is_offline(rig, at_lun(rig, 1)) && !is_offline(rig, at_lun(rig, 2)));
    rig.sim.faults().remove(stuck);
    node.operations()
        .disks()
        .set_offline(number, rig.soon())
        .unwrap();
    assert!(is_offline(rig, at_lun(rig, 2)), "the kernel's was meant");
    assert!(!is_offline(rig, at_lun(rig, 1)));
}

/// Nothing says that Windows spells a serial number alike in both views.
#[test]
fn a_disk_whose_texts_differ_is_used_by_its_path() {
    fn other_texts(row: &mut Instance) {
        say(row, disk::SERIAL_NUMBER.name, Value::text("6A12_0000."));
        say(row, disk::UNIQUE_ID.name, Value::text("SOMETHING ELSE"));
    }
    let rig = rig(&usual().identified(IdentifierKind::Naa, "600140512345678a"));
    let (node, number) = (told(&rig, other_texts), rig.disk());
    node.operations()
        .disks()
        .partition(number, rig.soon())
        .unwrap();
    let volume = rig.volume();
    node.operations()
        .volumes()
        .format(volume, rig.soon())
        .unwrap();
    taken(&rig, &node, number);
    node.operations()
        .disks()
        .set_online(number, rig.soon())
        .unwrap();
    let ids = node.operations().disks().ids(rig.soon()).unwrap();
    assert_eq!(ids[&number].serial, "6A12_0000.", "as the provider says it");
}

#[test]
fn swapped_disks_without_a_name_are_told_apart_by_their_paths() {
    let (rig, number) = swapped(|lun| DiskSpec::on(Bus::Sas).lun(lun));
    told_apart(&rig, &rig.node, number);
}

#[test]
fn a_disk_that_took_the_number_of_one_that_is_gone_is_not_switched_in_its_place() {
    let (rig, number) = swapped(|lun| DiskSpec::on(Bus::Sas).lun(lun));
    rig.sim.hardware().detach_disk(DATA).unwrap();
    let rescan = Rule::on("*UpdateHostStorageCache", Effect::fail(Win32::GEN_FAILURE));
    let stuck = rig.sim.faults().add(rescan);
    let node = &rig.node;
    node.operations()
        .disks()
        .set_offline(number, rig.soon())
        .unwrap_err();
    assert!(!is_offline(&rig, number));
    rig.sim.faults().remove(stuck);
    taken(&rig, node, number);
}

#[test]
fn a_disk_whose_path_stays_gone_is_left_alone() {
    fn gone(row: &mut Instance) {
        let nowhere = r"\\?\scsi#disk&ven_none#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";
        say(row, disk::PATH.name, Value::text(nowhere));
    }
    let rig = rig(&usual());
    left(&rig, &told(&rig, gone), rig.disk());
}

/// StorageDsc#224: so the disks of clusters and storage spaces are named, and nobody has seen whether it opens.
#[test]
fn a_path_that_is_no_devices_says_nothing_where_the_kernel_does_not_know_it() {
    fn of_a_cluster(row: &mut Instance) {
        let path = r"\\?\Disk{03b307c6-c8b2-a19f-a9ef-cb0b1d8057ae}";
        say(row, disk::PATH.name, Value::text(path));
    }
    let known = rig(&usual());
    taken(&known, &told(&known, of_a_cluster), known.disk());
    let ids = told(&known, of_a_cluster)
        .operations()
        .disks()
        .ids(known.soon());
    assert_eq!(ids.unwrap()[&known.disk()].serial, DATA);
    let nameless = rig(&DiskSpec::on(Bus::Sas).lun(1));
    left(
        &nameless,
        &told(&nameless, of_a_cluster),
        at_lun(&nameless, 1),
    );
}

/// What cannot be asked proves nothing.
#[test]
fn a_path_that_does_not_open_lets_nothing_be_written() {
    let rig = rig(&usual());
    let denied = Rule::on(NUMBER_OF_PATH, Effect::fail(Win32::ACCESS_DENIED));
    let denied = rig.sim.faults().add(denied);
    let refused = rig.disks().partition(rig.disk(), rig.soon());
    assert!(
        matches!(refused, Err(DiskError::Kernel { .. })),
        "{refused:?}"
    );
    assert_eq!(rig.os().disks.layout(rig.disk()).unwrap().partitions, []);
    rig.sim.faults().remove(denied);
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
}

/// The path is that of the slot: what the provider writes goes to the disk that is there now, of which
/// it has to learn the length before.
#[test]
fn a_disk_in_the_slot_of_another_gets_a_partition_of_its_own_length() {
    let rig = rig(&usual());
    let (hardware, number) = (rig.sim.hardware(), rig.disk());
    hardware.detach_disk(DATA).unwrap();
    rig.os().disks.list().unwrap();
    let later = usual().serial(OTHER);
    let larger = Content::blank(3 * GIB);
    hardware.attach_disk(DATA, &later, &larger).unwrap();
    assert_eq!(rig.disk_of(OTHER), number);
    let trace = rig.trace(|| rig.disks().partition(number, rig.soon()).unwrap());
    let when = |name: &str| trace.iter().position(|op| op.operation.ends_with(name));
    let (learnt, wrote) = (when("UpdateHostStorageCache"), when("MSFT_Disk.Initialize"));
    assert!(learnt.is_some() && learnt < wrote, "{trace:?}");
    let layout = rig.os().disks.layout(number).unwrap();
    let longest = layout.partitions.iter().map(|one| one.length).max();
    assert!(longest.unwrap() > 2 * GIB, "{layout:?}");
}

/// The provider has still the serial number of the one before.
#[test]
fn a_disk_in_the_slot_of_another_is_found_by_its_own_serial_number_alone() {
    let rig = rig(&usual());
    let number = replace(&rig, &usual().serial(OTHER));
    let before = find(&rig, vec![serial(DATA)]);
    assert_eq!(condition(before), Some(Condition::NotFound));
    let found = find(&rig, vec![serial(OTHER)]).unwrap();
    assert_eq!(found.number(), number);
    assert_eq!(found.seen().serial.as_deref(), Some(OTHER));
}

#[test]
fn a_disk_in_the_slot_of_the_one_that_was_found_is_not_changed() {
    let rig = rig(&usual());
    let found = find(&rig, vec![Criterion::Adapter(1), Criterion::Lun(1)]).unwrap();
    let number = replace(&rig, &usual().serial(OTHER));
    let refused = rig.disks().partition(&found, rig.soon());
    assert!(
        matches!(refused, Err(DiskError::NotTheFound { .. })),
        "{refused:?}"
    );
    assert_eq!(rig.os().disks.layout(number).unwrap().partitions, []);
}

/// What the provider alone says rules a disk out and never takes it.
#[test]
fn a_disk_without_a_serial_number_is_not_taken_by_that_of_the_one_in_its_slot_before() {
    let rig = rig(&usual());
    let number = replace(&rig, &DiskSpec::on(Bus::Sas).lun(1));
    let uncertain = find(&rig, vec![serial(DATA)]);
    assert_eq!(condition(uncertain), Some(Condition::Uncertain));
    let place = vec![Criterion::Adapter(1), Criterion::Lun(1)];
    assert_eq!(find(&rig, place).unwrap().number(), number);
    rig.disks().rescan(rig.soon()).unwrap();
    let gone = find(&rig, vec![serial(DATA)]);
    assert_eq!(condition(gone), Some(Condition::NotFound));
}

/// The provider's identifier is the one of the disk before, and the disk that is there does not tell its own.
#[test]
fn a_silent_disk_in_the_slot_of_another_is_not_ruled_out_by_the_others_identifier() {
    let (before, later) = ("600140512345678a", "600140577777777b");
    let rig = rig(&usual().identified(IdentifierKind::Naa, before));
    let spec = usual()
        .serial(OTHER)
        .identified(IdentifierKind::Naa, later)
        .answering(IdentifierPage::Failing);
    replace(&rig, &spec);
    let page83 = Criterion::Page83(Page83::parse(later).unwrap());
    let uncertain = find(&rig, vec![page83]);
    assert_eq!(condition(uncertain), Some(Condition::Uncertain));
}

/// Before each write, and nothing else of the device is asked.
#[test]
fn a_number_is_proved_by_one_operation() {
    let rig = rig(&usual());
    let number = rig.disk();
    let trace = rig.trace(|| taken(&rig, &rig.node, number));
    let count = |name: &str| {
        let is_it = |op: &&Op| op.operation == name;
        trace.iter().filter(is_it).count()
    };
    assert_eq!(count(NUMBER_OF_PATH), 2, "when it looks and when it acts");
    assert_eq!(count("IOCTL_STORAGE_QUERY_PROPERTY"), 0);
}

#[test]
fn without_a_path_swapped_disks_are_told_apart_by_their_serial_numbers() {
    let (rig, number) = swapped(|lun| {
        DiskSpec::on(Bus::Sas)
            .lun(lun)
            .serial(&format!("disk{lun}"))
    });
    told_apart(&rig, &told(&rig, without_path), number);
}

/// LUNs of one array may share its serial number.
#[test]
fn without_a_path_swapped_disks_of_one_serial_number_are_told_apart_by_their_unique_ids() {
    let (rig, number) = swapped(|lun| {
        let spec = DiskSpec::on(Bus::Sas).lun(lun).serial("array");
        spec.identified(IdentifierKind::Naa, &format!("60014051234567{lun:02x}"))
    });
    told_apart(&rig, &told(&rig, without_path), number);
}

#[test]
fn without_a_path_nor_a_name_a_disk_is_left_alone() {
    let rig = rig(&DiskSpec::on(Bus::Sas).lun(1));
    left(&rig, &told(&rig, without_path), at_lun(&rig, 1));
}

/// There is no device by which the kernel could tell, instead of the provider, that it is still the one.
#[test]
fn without_a_path_the_provider_is_asked_before_each_write() {
    let disks_asked = |rewrite| {
        let rig = rig(&usual());
        let (node, number) = (told(&rig, rewrite), rig.disk());
        let trace = rig.trace(|| {
            node.operations()
                .disks()
                .partition(number, rig.soon())
                .unwrap()
        });
        let asked = trace.iter().filter(|op| op.object.contains("MSFT_Disk "));
        asked.count()
    };
    let looks = 1;
    assert_eq!(disks_asked(without_path), looks + 2);
    assert_eq!(disks_asked(|_| {}), looks + 1);
}

#[test]
fn an_empty_path_is_none() {
    fn empty_path(row: &mut Instance) {
        say(row, disk::PATH.name, Value::text(""));
    }
    let rig = rig(&usual());
    taken(&rig, &told(&rig, empty_path), rig.disk());
}

#[test]
fn without_a_path_a_serial_number_counts_in_each_spelling() {
    fn as_digits(row: &mut Instance) {
        without_path(row);
        say(
            row,
            disk::SERIAL_NUMBER.name,
            Value::text("57442D31323334352020"),
        );
    }
    let rig = rig(&DiskSpec::on(Bus::Sas).lun(1).serial("  wd-12345"));
    taken(&rig, &told(&rig, as_digits), at_lun(&rig, 1));
}

#[test]
fn without_a_path_another_serial_number_is_another_disk() {
    fn another(row: &mut Instance) {
        without_path(row);
        say(row, disk::SERIAL_NUMBER.name, Value::text("data2"));
    }
    let rig = rig(&usual());
    left(&rig, &told(&rig, another), rig.disk());
}

#[test]
fn without_a_path_another_length_is_another_disk() {
    fn shorter(row: &mut Instance) {
        without_path(row);
        say(row, disk::SIZE.name, Value::uint64(GIB - 512));
    }
    let rig = rig(&usual());
    left(&rig, &told(&rig, shorter), rig.disk());
}

#[test]
fn without_a_path_a_unique_id_decides_before_a_serial_number() {
    fn other_serial(row: &mut Instance) {
        without_path(row);
        say(row, disk::SERIAL_NUMBER.name, Value::text("6A12"));
    }
    fn other_id(row: &mut Instance) {
        without_path(row);
        say(row, disk::UNIQUE_ID.name, Value::text("600140512345678B"));
    }
    for (kind, name) in [
        (IdentifierKind::Naa, "600140512345678a"),
        (IdentifierKind::Eui64, "0025385891b11234"),
        (IdentifierKind::ScsiName, "naa.600140512345678a"),
    ] {
        let rig = rig(&usual().identified(kind, name));
        left(&rig, &told(&rig, other_id), rig.disk());
        taken(&rig, &told(&rig, other_serial), rig.disk());
    }
}
