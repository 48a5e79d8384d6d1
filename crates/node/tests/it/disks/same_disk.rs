//! By what a disk of the storage provider is known to be the kernel's: its path, and without one its
//! length and a name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::schema::disk;
use os::{DiskNumber, Instance, Value, Win32};
use os_sim::{Bus, Content, DiskSpec, IdentifierKind, IdentifierPage, Op};
use wincsi_node::api::{Cause, Condition, Error};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Node, Page83, SerialNumber};

use crate::support::{DATA, GIB, NodeFixture, inject};

const OTHER: &str = "other";

/// The control code by which a node reads a device's number.
const NUMBER_OF_PATH: &str = "IOCTL_STORAGE_GET_DEVICE_NUMBER";

/// A rig with one disk like this.
fn fixture(spec: &DiskSpec) -> NodeFixture {
    let fixture = NodeFixture::new();
    fixture.plug(spec, DATA, GIB);
    fixture
}

fn usual() -> DiskSpec {
    DiskSpec::on(Bus::Sas).serial(DATA).lun(1)
}

/// Operations on a node whose storage provider says something else.
fn with_rewritten_rows(fixture: &NodeFixture, rewrite: fn(&mut Instance)) -> Node {
    inject::node(fixture, |os| {
        inject::each_row(&mut os.storage, rewrite);
    })
}

fn say(row: &mut Instance, property: &str, value: Value) {
    if let Some(system_text) = row.properties.get_mut(property) {
        *system_text = value;
    }
}

fn without_path(row: &mut Instance) {
    say(row, disk::PATH.name, Value::Null);
}

/// The disk at this LUN, by the kernel.
fn at_lun(fixture: &NodeFixture, lun: u8) -> DiskNumber {
    let disks = &fixture.os().disks;
    let mut numbers = disks.list().unwrap().into_iter();
    let is_it = |number: &DiskNumber| {
        let address = disks.scsi_address(*number);
        address.is_ok_and(|address| address.lun == lun)
    };
    numbers.find(is_it).unwrap()
}

fn is_offline(fixture: &NodeFixture, number: DiskNumber) -> bool {
    fixture.os().disks.attributes(number).unwrap().offline
}

/// The disk is held for the same one, and switched.
#[track_caller]
fn taken(fixture: &NodeFixture, node: &Node, number: DiskNumber) {
    node.operations()
        .disks()
        .set_offline(number, fixture.soon())
        .unwrap();
    assert!(is_offline(fixture, number));
}

/// The disk is held for another one, and nothing is done to any.
#[track_caller]
fn left(fixture: &NodeFixture, node: &Node, number: DiskNumber) {
    let trace = fixture.trace(|| {
        let refused = node
            .operations()
            .disks()
            .set_offline(number, fixture.soon());
        let is_it = matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number);
        assert!(is_it, "{refused:?}");
    });
    assert!(!trace.iter().any(|op| op.operation == "MSFT_Disk.Offline"));
}

/// Disks of one length at LUN 1 and 2; the one of LUN 2 took the number of the other, which came back
/// under the next, and the provider has not heard of it.
fn swapped(spec: fn(u8) -> DiskSpec) -> (NodeFixture, DiskNumber) {
    let fixture = fixture(&spec(1));
    let number = at_lun(&fixture, 1);
    let hardware = fixture.hardware();
    let blank = Content::blank(GIB);
    hardware.detach_disk(DATA).unwrap();
    fixture.os().disks.list().unwrap();
    hardware.attach_disk(OTHER, &spec(2), &blank).unwrap();
    fixture.os().disks.list().unwrap();
    hardware.attach_disk(DATA, &spec(1), &blank).unwrap();
    assert_eq!(at_lun(&fixture, 2), number, "the number is reused");
    (fixture, number)
}

/// Another disk of the same length in the slot of the rig's, of which the provider has not heard.
fn replace(fixture: &NodeFixture, later: &DiskSpec) -> DiskNumber {
    let (hardware, number) = (fixture.hardware(), at_lun(fixture, 1));
    hardware.detach_disk(DATA).unwrap();
    fixture.os().disks.list().unwrap();
    hardware
        .attach_disk(DATA, later, &Content::blank(GIB))
        .unwrap();
    fixture.os().disks.list().unwrap();
    assert_eq!(at_lun(fixture, 1), number, "the number is reused");
    number
}

fn serial(text: &str) -> Criterion {
    Criterion::Serial(SerialNumber::parse(text).unwrap())
}

fn find(fixture: &NodeFixture, known: Vec<Criterion>) -> Result<FoundDisk, DiskError> {
    let wanted = DiskQuery::all(known).unwrap();
    fixture.disks().find(&wanted, fixture.soon())
}

#[track_caller]
fn condition(found: Result<FoundDisk, DiskError>) -> Option<Condition> {
    let cause: Cause = found.unwrap_err().into();
    Error::new("find", "it", cause).condition()
}

/// Without a rescan the swap is refused; with one the kernel's disk is switched.
#[track_caller]
fn distinguished(fixture: &NodeFixture, node: &Node, number: DiskNumber) {
    let stuck = fixture.fail("*UpdateHostStorageCache", Win32::GEN_FAILURE);
    node.operations()
        .disks()
        .set_offline(number, fixture.soon())
        .unwrap_err();
    assert!(!is_offline(fixture, at_lun(fixture, 1)) && !is_offline(fixture, at_lun(fixture, 2)));
    fixture.faults().remove(stuck);
    node.operations()
        .disks()
        .set_offline(number, fixture.soon())
        .unwrap();
    assert!(
        is_offline(fixture, at_lun(fixture, 2)),
        "the kernel's was meant"
    );
    assert!(!is_offline(fixture, at_lun(fixture, 1)));
}

/// Nothing says that Windows spells a serial number alike in both views.
#[test]
fn a_disk_whose_texts_differ_is_used_by_its_path() {
    fn other_texts(row: &mut Instance) {
        say(row, disk::SERIAL_NUMBER.name, Value::text("6A12_0000."));
        say(row, disk::UNIQUE_ID.name, Value::text("SOMETHING ELSE"));
    }
    let fixture = fixture(&usual().identified(IdentifierKind::Naa, "600140512345678a"));
    let (node, number) = (with_rewritten_rows(&fixture, other_texts), fixture.disk());
    node.operations()
        .disks()
        .partition(number, fixture.soon())
        .unwrap();
    let volume = fixture.volume();
    node.operations()
        .volumes()
        .format(volume, fixture.soon())
        .unwrap();
    taken(&fixture, &node, number);
    node.operations()
        .disks()
        .set_online(number, fixture.soon())
        .unwrap();
    let ids = node.operations().disks().ids(fixture.soon()).unwrap();
    assert_eq!(ids[&number].serial, "6A12_0000.", "as the provider says it");
}

#[test]
fn swapped_disks_without_a_name_are_told_apart_by_their_paths() {
    let (fixture, number) = swapped(|lun| DiskSpec::on(Bus::Sas).lun(lun));
    distinguished(&fixture, &fixture.node, number);
}

#[test]
fn a_disk_that_took_the_number_of_one_that_is_gone_is_not_switched_in_its_place() {
    let (fixture, number) = swapped(|lun| DiskSpec::on(Bus::Sas).lun(lun));
    fixture.hardware().detach_disk(DATA).unwrap();
    let stuck = fixture.fail("*UpdateHostStorageCache", Win32::GEN_FAILURE);
    let node = &fixture.node;
    node.operations()
        .disks()
        .set_offline(number, fixture.soon())
        .unwrap_err();
    assert!(!is_offline(&fixture, number));
    fixture.faults().remove(stuck);
    taken(&fixture, node, number);
}

#[test]
fn a_disk_whose_path_stays_gone_is_left_alone() {
    fn gone(row: &mut Instance) {
        let nowhere = r"\\?\scsi#disk&ven_none#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";
        say(row, disk::PATH.name, Value::text(nowhere));
    }
    let fixture = fixture(&usual());
    left(
        &fixture,
        &with_rewritten_rows(&fixture, gone),
        fixture.disk(),
    );
}

/// StorageDsc#224: so the disks of clusters and storage spaces are named, and nobody has seen whether it opens.
#[test]
fn a_path_that_is_no_devices_says_nothing_where_the_kernel_does_not_know_it() {
    fn of_a_cluster(row: &mut Instance) {
        let path = r"\\?\Disk{03b307c6-c8b2-a19f-a9ef-cb0b1d8057ae}";
        say(row, disk::PATH.name, Value::text(path));
    }
    let known = fixture(&usual());
    taken(
        &known,
        &with_rewritten_rows(&known, of_a_cluster),
        known.disk(),
    );
    let ids = with_rewritten_rows(&known, of_a_cluster)
        .operations()
        .disks()
        .ids(known.soon());
    assert_eq!(ids.unwrap()[&known.disk()].serial, DATA);
    let nameless = fixture(&DiskSpec::on(Bus::Sas).lun(1));
    left(
        &nameless,
        &with_rewritten_rows(&nameless, of_a_cluster),
        at_lun(&nameless, 1),
    );
}

/// A failed query proves nothing.
#[test]
fn a_path_that_does_not_open_lets_nothing_be_written() {
    let fixture = fixture(&usual());
    let denied = fixture.fail(NUMBER_OF_PATH, Win32::ACCESS_DENIED);
    let refused = fixture.try_partition();
    assert!(
        matches!(refused, Err(DiskError::Kernel { .. })),
        "{refused:?}"
    );
    assert_eq!(fixture.layout().partitions, []);
    fixture.faults().remove(denied);
    fixture.partition();
}

/// The path is that of the slot: what the provider writes goes to the disk that is there now, of which
/// it has to learn the length before.
#[test]
fn a_disk_in_the_slot_of_another_gets_a_partition_of_its_own_length() {
    let fixture = fixture(&usual());
    let (hardware, number) = (fixture.hardware(), fixture.disk());
    hardware.detach_disk(DATA).unwrap();
    fixture.os().disks.list().unwrap();
    let later = usual().serial(OTHER);
    let larger = Content::blank(3 * GIB);
    hardware.attach_disk(DATA, &later, &larger).unwrap();
    assert_eq!(fixture.disk_of(OTHER), number);
    let trace = fixture.trace(|| fixture.disks().partition(number, fixture.soon()).unwrap());
    let when = |name: &str| trace.iter().position(|op| op.operation.ends_with(name));
    let (learnt, wrote) = (when("UpdateHostStorageCache"), when("MSFT_Disk.Initialize"));
    assert!(learnt.is_some() && learnt < wrote, "{trace:?}");
    let layout = fixture.os().disks.layout(number).unwrap();
    let longest = layout.partitions.iter().map(|one| one.length).max();
    assert!(longest.unwrap() > 2 * GIB, "{layout:?}");
}

/// The provider has still the serial number of the one before.
#[test]
fn a_disk_in_the_slot_of_another_is_found_by_its_own_serial_number_alone() {
    let fixture = fixture(&usual());
    let number = replace(&fixture, &usual().serial(OTHER));
    let before = find(&fixture, vec![serial(DATA)]);
    assert_eq!(condition(before), Some(Condition::NotFound));
    let found = find(&fixture, vec![serial(OTHER)]).unwrap();
    assert_eq!(found.number(), number);
    assert_eq!(found.seen().serial.as_deref(), Some(OTHER));
}

#[test]
fn a_disk_in_the_slot_of_the_one_that_was_found_is_not_changed() {
    let fixture = fixture(&usual());
    let found = find(&fixture, vec![Criterion::Adapter(1), Criterion::Lun(1)]).unwrap();
    let number = replace(&fixture, &usual().serial(OTHER));
    let refused = fixture.disks().partition(&found, fixture.soon());
    assert!(
        matches!(refused, Err(DiskError::NotTheFound { .. })),
        "{refused:?}"
    );
    assert_eq!(fixture.os().disks.layout(number).unwrap().partitions, []);
}

/// A property that only the provider reports excludes a disk and never selects one.
#[test]
fn a_disk_without_a_serial_number_is_not_taken_by_that_of_the_one_in_its_slot_before() {
    let fixture = fixture(&usual());
    let number = replace(&fixture, &DiskSpec::on(Bus::Sas).lun(1));
    let uncertain = find(&fixture, vec![serial(DATA)]);
    assert_eq!(condition(uncertain), Some(Condition::Uncertain));
    let place = vec![Criterion::Adapter(1), Criterion::Lun(1)];
    assert_eq!(find(&fixture, place).unwrap().number(), number);
    fixture.rescan();
    let gone = find(&fixture, vec![serial(DATA)]);
    assert_eq!(condition(gone), Some(Condition::NotFound));
}

/// The provider's identifier is the one of the disk before, and the disk that is there does not tell its own.
#[test]
fn a_silent_disk_in_the_slot_of_another_is_not_ruled_out_by_the_others_identifier() {
    let (before, later) = ("600140512345678a", "600140577777777b");
    let fixture = fixture(&usual().identified(IdentifierKind::Naa, before));
    let spec = usual()
        .serial(OTHER)
        .identified(IdentifierKind::Naa, later)
        .answering(IdentifierPage::Failing);
    replace(&fixture, &spec);
    let page83 = Criterion::Page83(Page83::parse(later).unwrap());
    let uncertain = find(&fixture, vec![page83]);
    assert_eq!(condition(uncertain), Some(Condition::Uncertain));
}

/// Before each write, and nothing else of the device is asked.
#[test]
fn a_number_is_proved_by_one_operation() {
    let fixture = fixture(&usual());
    let number = fixture.disk();
    let trace = fixture.trace(|| taken(&fixture, &fixture.node, number));
    let count = |name: &str| {
        let is_it = |op: &&Op| op.operation == name;
        trace.iter().filter(is_it).count()
    };
    assert_eq!(count(NUMBER_OF_PATH), 2, "when it looks and when it acts");
    assert_eq!(count("IOCTL_STORAGE_QUERY_PROPERTY"), 0);
}

#[test]
fn without_a_path_swapped_disks_are_told_apart_by_their_serial_numbers() {
    let (fixture, number) = swapped(|lun| {
        DiskSpec::on(Bus::Sas)
            .lun(lun)
            .serial(&format!("disk{lun}"))
    });
    distinguished(
        &fixture,
        &with_rewritten_rows(&fixture, without_path),
        number,
    );
}

/// LUNs of one array may share its serial number.
#[test]
fn without_a_path_swapped_disks_of_one_serial_number_are_told_apart_by_their_unique_ids() {
    let (fixture, number) = swapped(|lun| {
        let spec = DiskSpec::on(Bus::Sas).lun(lun).serial("array");
        spec.identified(IdentifierKind::Naa, &format!("60014051234567{lun:02x}"))
    });
    distinguished(
        &fixture,
        &with_rewritten_rows(&fixture, without_path),
        number,
    );
}

#[test]
fn without_a_path_nor_a_name_a_disk_is_left_alone() {
    let fixture = fixture(&DiskSpec::on(Bus::Sas).lun(1));
    left(
        &fixture,
        &with_rewritten_rows(&fixture, without_path),
        at_lun(&fixture, 1),
    );
}

/// There is no device by which the kernel could tell, instead of the provider, that it is still the one.
#[test]
fn without_a_path_the_provider_is_asked_before_each_write() {
    let disks_asked = |rewrite| {
        let fixture = fixture(&usual());
        let (node, number) = (with_rewritten_rows(&fixture, rewrite), fixture.disk());
        let trace = fixture.trace(|| {
            node.operations()
                .disks()
                .partition(number, fixture.soon())
                .unwrap()
        });
        let asked = trace.iter().filter(|op| op.object.contains("MSFT_Disk "));
        asked.count()
    };
    let reads = 1;
    assert_eq!(disks_asked(without_path), reads + 2);
    assert_eq!(disks_asked(|_| {}), reads + 1);
}

#[test]
fn an_empty_path_is_none() {
    fn empty_path(row: &mut Instance) {
        say(row, disk::PATH.name, Value::text(""));
    }
    let fixture = fixture(&usual());
    taken(
        &fixture,
        &with_rewritten_rows(&fixture, empty_path),
        fixture.disk(),
    );
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
    let fixture = fixture(&DiskSpec::on(Bus::Sas).lun(1).serial("  wd-12345"));
    taken(
        &fixture,
        &with_rewritten_rows(&fixture, as_digits),
        at_lun(&fixture, 1),
    );
}

#[test]
fn without_a_path_another_serial_number_is_another_disk() {
    fn another(row: &mut Instance) {
        without_path(row);
        say(row, disk::SERIAL_NUMBER.name, Value::text("data2"));
    }
    let fixture = fixture(&usual());
    left(
        &fixture,
        &with_rewritten_rows(&fixture, another),
        fixture.disk(),
    );
}

#[test]
fn without_a_path_another_length_is_another_disk() {
    fn shorter(row: &mut Instance) {
        without_path(row);
        say(row, disk::SIZE.name, Value::uint64(GIB - 512));
    }
    let fixture = fixture(&usual());
    left(
        &fixture,
        &with_rewritten_rows(&fixture, shorter),
        fixture.disk(),
    );
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
        let fixture = fixture(&usual().identified(kind, name));
        left(
            &fixture,
            &with_rewritten_rows(&fixture, other_id),
            fixture.disk(),
        );
        taken(
            &fixture,
            &with_rewritten_rows(&fixture, other_serial),
            fixture.disk(),
        );
    }
}
