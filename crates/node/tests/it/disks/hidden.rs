//! A clone that the storage provider leaves out until somebody makes it writable, and what is left out for other
//! reasons.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use formats::gpt::types;
use os::{DiskAccess, DiskAttributes, DiskNumber, Win32};
use os_sim::{
    Bus, Collision, Content, DiskSpec, Effect, IdentifierKind, IdentifierPage, NodeSpec, Rule,
    SanPolicy, ServiceSpec, StorageConditions,
};
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundDisk, Options, Page83, SerialNumber};

use crate::support::{DATA, NodeFixture};

const CLONE: &str = "clone1";
const LENGTH: u64 = 128 << 20;
const ORIGINAL_NAME: &str = "6000c29000000000000000000000000a";
const CLONE_NAME: &str = "6000c29000000000000000000000000b";
const PAST_THE_PROVIDER: &str = "IOCTL_DISK_SET_DISK_ATTRIBUTES";

const DOWN: DiskAttributes = DiskAttributes {
    offline: true,
    read_only: true,
};

fn spec() -> NodeSpec {
    NodeSpec {
        storage: StorageConditions {
            collision: Collision::Hidden,
            ..StorageConditions::default()
        },
        ..NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll)
    }
}

fn clone_spec() -> DiskSpec {
    DiskSpec::on(Bus::Sas)
        .serial(CLONE)
        .lun(2)
        .identified(IdentifierKind::Naa, CLONE_NAME)
}

/// A node with a volume.
fn with_original(spec: &NodeSpec) -> NodeFixture {
    let fixture = NodeFixture::of(spec, Options::default());
    let original = DiskSpec::on(Bus::Sas).serial(DATA).lun(1);
    let original = original.identified(IdentifierKind::Naa, ORIGINAL_NAME);
    fixture.plug(&original, DATA, LENGTH);
    fixture.partition();
    fixture.format();
    fixture
}

fn plug_clone(fixture: &NodeFixture, spec: &DiskSpec) {
    fixture.hardware().clone_disk(DATA, CLONE, spec).unwrap();
    fixture.rescan();
    assert_eq!(attributes(fixture), DOWN);
}

fn attributes(fixture: &NodeFixture) -> DiskAttributes {
    fixture.attributes_of(CLONE)
}

fn is_listed(fixture: &NodeFixture, disk: DiskNumber) -> bool {
    let listed = fixture.disks().ids(fixture.soon()).unwrap();
    listed.contains_key(&disk)
}

fn by_name() -> Vec<Criterion> {
    vec![Criterion::Page83(Page83::parse(CLONE_NAME).unwrap())]
}

fn find(fixture: &NodeFixture, known: Vec<Criterion>) -> Result<FoundDisk, Option<Condition>> {
    let wanted = DiskQuery::all(known).unwrap();
    let disks = NodeApi::disks(&fixture.node);
    disks
        .find(&wanted, fixture.soon())
        .map_err(|error| error.condition())
}

/// It is not found, and nothing is done to any disk.
#[track_caller]
fn left(fixture: &NodeFixture, known: Vec<Criterion>, condition: Condition) {
    let before = attributes(fixture);
    let trace = fixture.trace(|| assert_eq!(find(fixture, known), Err(Some(condition))));
    let changes = ["MSFT_Disk.", PAST_THE_PROVIDER];
    let changed = trace
        .iter()
        .find(|op| changes.iter().any(|it| op.operation.starts_with(it)));
    assert_eq!(changed, None);
    assert_eq!(attributes(fixture), before);
}

/// csi-proxy#287.
/// Guards: P62
#[test]
fn a_clone_that_is_left_out_is_found_by_its_name_and_comes_online() {
    let fixture = with_original(&spec());
    plug_clone(&fixture, &clone_spec());
    let (number, before) = (fixture.disk_of(CLONE), fixture.style_of(DATA));
    assert!(!is_listed(&fixture, number));
    let clone = find(&fixture, by_name()).unwrap();
    assert_eq!(clone.number(), number);
    assert!(attributes(&fixture).offline, "it is found, and no more");
    fixture
        .disks()
        .bring_online(&clone, fixture.soon())
        .unwrap();
    assert_eq!(fixture.style_of(DATA), before);
    assert_ne!(fixture.style_of(CLONE), before);
    let volume = fixture.volumes().sole_on_disk(number, fixture.soon());
    assert_ne!(volume.unwrap(), fixture.volume());
}

/// Windows would have to write another signature to it.
#[test]
fn a_clone_that_is_left_out_is_offline_all_the_time_for_readers_and_left_out_again() {
    let fixture = with_original(&spec());
    plug_clone(&fixture, &clone_spec());
    let before = fixture.style_of(CLONE);
    let clone = find(&fixture, by_name()).unwrap();
    assert!(attributes(&fixture).offline);
    let disks = fixture.disks();
    let trace = fixture.trace(|| {
        let refused = disks.bring_online_read_only(&clone, fixture.soon());
        refused.unwrap_err();
    });
    let changes = [PAST_THE_PROVIDER, "MSFT_Disk.Online"];
    let done = trace.iter().map(|op| op.operation);
    let done: Vec<_> = done.filter(|name| changes.contains(name)).collect();
    assert_eq!(done, changes, "read-only before it would come online");
    assert_eq!(attributes(&fixture), DOWN);
    assert_eq!(fixture.style_of(CLONE), before);
}

#[test]
fn a_clone_is_left_out_until_a_query_has_its_name() {
    let fixture = with_original(&spec());
    plug_clone(&fixture, &clone_spec());
    let serial = Criterion::Serial(SerialNumber::parse(CLONE).unwrap());
    left(&fixture, vec![serial], Condition::NotFound);
    let elsewhere = [by_name(), vec![Criterion::Size(3 * LENGTH)]].concat();
    left(&fixture, elsewhere, Condition::NotFound);
    find(&fixture, by_name()).unwrap();
}

/// The other one may be listed, with something else that is not as asked for, or hidden too.
/// Guards: P62
#[test]
fn a_name_that_two_disks_have_brings_none_to_light() {
    let listed = with_original(&spec());
    plug_clone(&listed, &clone_spec());
    let larger = clone_spec().serial("other").lun(3);
    listed.plug(&larger, "other", 2 * LENGTH);
    let sized = [by_name(), vec![Criterion::Size(LENGTH)]].concat();
    left(&listed, sized, Condition::NotFound);

    let hidden = with_original(&spec());
    plug_clone(&hidden, &clone_spec());
    let hardware = hidden.hardware();
    hardware.clone_disk(DATA, "other", &larger).unwrap();
    left(&hidden, by_name(), Condition::NotFound);
}

/// It may have the same.
#[test]
fn a_disk_that_does_not_tell_its_names_brings_none_to_light() {
    let silent = DiskSpec::on(Bus::Sas).serial("other").lun(3);
    let silent = silent.answering(IdentifierPage::Failing);
    let hidden = with_original(&spec());
    plug_clone(&hidden, &clone_spec());
    let hardware = hidden.hardware();
    hardware.clone_disk(DATA, "other", &silent).unwrap();
    left(&hidden, by_name(), Condition::NotFound);

    let listed = with_original(&spec());
    plug_clone(&listed, &clone_spec());
    listed.plug(&silent, "other", 2 * LENGTH);
    let sized = [by_name(), vec![Criterion::Size(LENGTH)]].concat();
    left(&listed, sized, Condition::NotFound);
}

/// Members of pools and dynamic disks are left out for what they are.
/// Guards: P62
#[test]
fn a_disk_with_a_partition_of_another_kind_stays_hidden() {
    for kind in [
        types::LDM_DATA,
        types::LDM_METADATA,
        types::STORAGE_SPACES,
        types::RECOVERY,
    ] {
        let fixture = with_original(&spec());
        fixture.grow(DATA, 2 * LENGTH);
        fixture.rescan();
        fixture.add_partition(kind, LENGTH, 64 << 20);
        plug_clone(&fixture, &clone_spec());
        left(&fixture, by_name(), Condition::NotFound);
    }
}

/// A node with an MBR disk, whose one partition is of this type.
fn with_mbr_original(kind: u8) -> NodeFixture {
    let fixture = NodeFixture::of(&spec(), Options::default());
    let fixtures = formats::fixtures::all();
    let mbr = fixtures.iter().find(|one| one.name == "mbr-sfdisk");
    let image = &mbr.unwrap().image;
    let (hardware, blank) = (fixture.hardware(), Content::blank(image.length()));
    let original = DiskSpec::on(Bus::Sas).serial(DATA).lun(1);
    hardware.attach_disk(DATA, &original, &blank).unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    hardware.write_disk(DATA, 446 + 4, &[kind]).unwrap();
    fixture.rescan();
    fixture
}

#[test]
fn an_mbr_clone_that_is_left_out_is_found_by_its_name() {
    let fixture = with_mbr_original(0x07);
    plug_clone(&fixture, &clone_spec());
    let number = fixture.disk_of(CLONE);
    assert!(!is_listed(&fixture, number));
    assert_eq!(find(&fixture, by_name()).unwrap().number(), number);
    assert!(attributes(&fixture).offline, "it is found, and no more");
}

/// Dynamic disks, Storage Spaces (two types), recovery, and another system's.
/// Guards: P62
#[test]
fn an_mbr_disk_with_a_partition_of_another_kind_stays_hidden() {
    for kind in [0x42, 0xD7, 0xE7, 0x27, 0x83] {
        let fixture = with_mbr_original(kind);
        plug_clone(&fixture, &clone_spec());
        left(&fixture, by_name(), Condition::NotFound);
    }
}

/// The disk may be another node's.
/// Guards: P62
#[test]
fn on_a_node_that_may_be_of_a_cluster_a_disk_stays_hidden() {
    let mut clustered = spec();
    clustered.service.push(ServiceSpec {
        name: "ClusSvc".to_owned(),
        display_name: "Cluster Service".to_owned(),
        ..ServiceSpec::default()
    });
    let fixture = with_original(&clustered);
    plug_clone(&fixture, &clone_spec());
    left(&fixture, by_name(), Condition::NotFound);

    let fixture = with_original(&spec());
    plug_clone(&fixture, &clone_spec());
    let silent = Rule::on("*", Effect::fail(Win32::ACCESS_DENIED)).object("ClusSvc");
    fixture.fault(silent);
    left(&fixture, by_name(), Condition::NotFound);
}

/// It is offline for another reason.
#[test]
fn a_hidden_disk_that_is_writable_is_left_alone() {
    let fixture = with_original(&spec());
    plug_clone(&fixture, &clone_spec());
    let (disks, clone) = (&fixture.os().disks, fixture.disk_of(CLONE));
    disks.set_access(clone, DiskAccess::ReadWrite).unwrap();
    left(&fixture, by_name(), Condition::NotFound);
}

/// Without its original, Windows would bring it online then.
#[test]
fn a_clone_that_was_found_is_read_only_again_after_a_restart() {
    let fixture = with_original(&spec());
    plug_clone(&fixture, &clone_spec());
    find(&fixture, by_name()).unwrap();
    assert!(!attributes(&fixture).read_only);
    fixture.hardware().unplug_disk(DATA).unwrap();
    fixture.reboot().unwrap();
    assert_eq!(attributes(&fixture), DOWN);
}
