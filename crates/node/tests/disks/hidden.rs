//! A clone that the storage provider leaves out until somebody makes it writable, and what is left out for other
//! reasons.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use formats::gpt::types;
use os::{DiskAttributes, PartitionStyle, Win32};
use os_sim::{
    Bus, Collision, Content, DiskSpec, Effect, IdentifierKind, IdentifierPage, NodeSpec, Rule,
    SanPolicy, ServiceSpec, StorageConditions,
};
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundDisk, Options, Page83, SerialNumber};

use crate::support::{DATA, Rig};

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
fn with_original(spec: &NodeSpec) -> Rig {
    let rig = Rig::of(spec, Options::default());
    let original = DiskSpec::on(Bus::Sas).serial(DATA).lun(1);
    let original = original.identified(IdentifierKind::Naa, ORIGINAL_NAME);
    rig.plug(&original, DATA, LENGTH);
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    rig.volumes().format(rig.volume(), rig.soon()).unwrap();
    rig
}

fn plug_clone(rig: &Rig, spec: &DiskSpec) {
    rig.sim.hardware().clone_disk(DATA, CLONE, spec).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    assert_eq!(attributes(rig), DOWN);
}

fn attributes(rig: &Rig) -> DiskAttributes {
    rig.os().disks.attributes(rig.disk_of(CLONE)).unwrap()
}

fn style(rig: &Rig, serial: &str) -> PartitionStyle {
    rig.os().disks.layout(rig.disk_of(serial)).unwrap().style
}

fn by_name() -> Vec<Criterion> {
    vec![Criterion::Page83(Page83::parse(CLONE_NAME).unwrap())]
}

fn find(rig: &Rig, known: Vec<Criterion>) -> Result<FoundDisk, Option<Condition>> {
    let wanted = DiskQuery::all(known).unwrap();
    let disks = NodeApi::disks(&rig.node);
    disks
        .find(&wanted, rig.soon())
        .map_err(|error| error.condition())
}

/// It is not found, and nothing is done to any disk.
#[track_caller]
fn left(rig: &Rig, known: Vec<Criterion>, condition: Condition) {
    let before = attributes(rig);
    let trace = rig.trace(|| assert_eq!(find(rig, known), Err(Some(condition))));
    let changes = ["MSFT_Disk.", PAST_THE_PROVIDER];
    let changed = trace
        .iter()
        .find(|op| changes.iter().any(|it| op.operation.starts_with(it)));
    assert_eq!(changed, None);
    assert_eq!(attributes(rig), before);
}

/// csi-proxy#287.
#[test]
fn a_clone_that_is_left_out_is_found_by_its_name_and_comes_online() {
    let rig = with_original(&spec());
    plug_clone(&rig, &clone_spec());
    let (number, before) = (rig.disk_of(CLONE), style(&rig, DATA));
    assert!(!rig.disks().ids(rig.soon()).unwrap().contains_key(&number));
    let clone = find(&rig, by_name()).unwrap();
    assert_eq!(clone.number(), number);
    assert!(attributes(&rig).offline, "it is found, and no more");
    rig.disks().bring_online(&clone, rig.soon()).unwrap();
    assert_eq!(style(&rig, DATA), before);
    assert_ne!(style(&rig, CLONE), before);
    let volume = rig.volumes().sole_on_disk(number, rig.soon());
    assert_ne!(volume.unwrap(), rig.volume());
}

#[test]
fn a_clone_is_left_out_until_somebody_asks_for_its_name() {
    let rig = with_original(&spec());
    plug_clone(&rig, &clone_spec());
    let serial = Criterion::Serial(SerialNumber::parse(CLONE).unwrap());
    left(&rig, vec![serial], Condition::NotFound);
    let elsewhere = [by_name(), vec![Criterion::Size(3 * LENGTH)]].concat();
    left(&rig, elsewhere, Condition::NotFound);
    find(&rig, by_name()).unwrap();
}

/// The other one may be listed, with something else that is not as asked for, or hidden too.
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
    let hardware = hidden.sim.hardware();
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
    let hardware = hidden.sim.hardware();
    hardware.clone_disk(DATA, "other", &silent).unwrap();
    left(&hidden, by_name(), Condition::NotFound);

    let listed = with_original(&spec());
    plug_clone(&listed, &clone_spec());
    listed.plug(&silent, "other", 2 * LENGTH);
    let sized = [by_name(), vec![Criterion::Size(LENGTH)]].concat();
    left(&listed, sized, Condition::NotFound);
}

/// Members of pools and dynamic disks are left out for what they are.
#[test]
fn a_disk_with_a_partition_of_another_kind_stays_hidden() {
    for kind in [
        types::LDM_DATA,
        types::LDM_METADATA,
        types::STORAGE_SPACES,
        types::RECOVERY,
    ] {
        let rig = with_original(&spec());
        rig.sim.hardware().grow_disk(DATA, 2 * LENGTH).unwrap();
        rig.disks().rescan(rig.soon()).unwrap();
        rig.add_partition(kind, LENGTH, 64 << 20);
        plug_clone(&rig, &clone_spec());
        left(&rig, by_name(), Condition::NotFound);
    }
}

/// A node with an MBR disk, whose one partition is of this type.
fn with_mbr_original(kind: u8) -> Rig {
    let rig = Rig::of(&spec(), Options::default());
    let fixtures = formats::fixtures::all();
    let mbr = fixtures.iter().find(|one| one.name == "mbr-sfdisk");
    let image = &mbr.unwrap().image;
    let (hardware, blank) = (rig.sim.hardware(), Content::blank(image.length()));
    let original = DiskSpec::on(Bus::Sas).serial(DATA).lun(1);
    hardware.attach_disk(DATA, &original, &blank).unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    hardware.write_disk(DATA, 446 + 4, &[kind]).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    rig
}

#[test]
fn an_mbr_clone_that_is_left_out_is_found_by_its_name() {
    let rig = with_mbr_original(0x07);
    plug_clone(&rig, &clone_spec());
    let number = rig.disk_of(CLONE);
    assert!(!rig.disks().ids(rig.soon()).unwrap().contains_key(&number));
    assert_eq!(find(&rig, by_name()).unwrap().number(), number);
    assert!(attributes(&rig).offline, "it is found, and no more");
}

/// Dynamic disks, Storage Spaces (two types), recovery, and another system's.
#[test]
fn an_mbr_disk_with_a_partition_of_another_kind_stays_hidden() {
    for kind in [0x42, 0xD7, 0xE7, 0x27, 0x83] {
        let rig = with_mbr_original(kind);
        plug_clone(&rig, &clone_spec());
        left(&rig, by_name(), Condition::NotFound);
    }
}

/// The disk may be another node's.
#[test]
fn on_a_node_that_may_be_of_a_cluster_a_disk_stays_hidden() {
    let mut clustered = spec();
    clustered.service.push(ServiceSpec {
        name: "ClusSvc".to_owned(),
        display_name: "Cluster Service".to_owned(),
        ..ServiceSpec::default()
    });
    let rig = with_original(&clustered);
    plug_clone(&rig, &clone_spec());
    left(&rig, by_name(), Condition::NotFound);

    let rig = with_original(&spec());
    plug_clone(&rig, &clone_spec());
    let silent = Rule::on("*", Effect::fail(Win32::ACCESS_DENIED)).object("ClusSvc");
    rig.sim.faults().add(silent);
    left(&rig, by_name(), Condition::NotFound);
}

/// It is offline for another reason.
#[test]
fn a_hidden_disk_that_is_writable_is_left_alone() {
    let rig = with_original(&spec());
    plug_clone(&rig, &clone_spec());
    rig.os().disks.clear_read_only(rig.disk_of(CLONE)).unwrap();
    left(&rig, by_name(), Condition::NotFound);
}
