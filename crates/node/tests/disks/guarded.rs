//! Each reason for which a disk is never written, one at a time: to all that writes, and to all that finds a disk.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use formats::gpt::types;
use os::{DiskNumber, PartitionStyle, VolumeId, Win32};
use os_sim::{Bus, Content, DiskSpec, Effect, IdentifierKind, NodeSpec, Role, Rule, SanPolicy};
use uuid::Uuid;
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, Guarded, NewSize, Options, Page83, VolumeError,
};

use crate::support::{DATA, GIB, Rig};

const PAGE83: &str = "disk-1";

/// What makes a disk one that is never written.
#[derive(Clone, Copy, Debug)]
enum Mark {
    Role(Role),
    /// A partition of this type beside the one with the volume.
    Partition(Uuid),
    /// The type of the partition with the volume, on an MBR disk.
    Mbr(u8),
}

const MARKS: [(Mark, Guarded); 7] = [
    (Mark::Role(Role::Boot), Guarded::Boot),
    (Mark::Role(Role::System), Guarded::System),
    (Mark::Role(Role::Clustered), Guarded::Clustered),
    (Mark::Partition(types::STORAGE_SPACES), Guarded::Pooled),
    (Mark::Partition(types::LDM_DATA), Guarded::Dynamic),
    (Mark::Partition(types::LDM_METADATA), Guarded::Dynamic),
    (Mark::Mbr(0x42), Guarded::Dynamic),
];

fn spec() -> DiskSpec {
    DiskSpec::on(Bus::Sas)
        .serial(DATA)
        .identified(IdentifierKind::Vendor, PAGE83)
}

/// A node with a volume on a disk of the table that goes with the mark, which it does not have yet.
fn unmarked(mark: Mark) -> Rig {
    match mark {
        Mark::Mbr(_) => with_mbr_volume(),
        Mark::Role(_) | Mark::Partition(_) => {
            let rig = Rig::new();
            rig.plug(&spec(), DATA, GIB);
            rig.disks().partition(rig.disk(), rig.soon()).unwrap();
            rig.volumes().format(rig.volume(), rig.soon()).unwrap();
            rig.sim.hardware().grow_disk(DATA, 2 * GIB).unwrap();
            rig.disks().rescan(rig.soon()).unwrap();
            rig
        }
    }
}

fn with_mbr_volume() -> Rig {
    let rig = Rig::new();
    let fixtures = formats::fixtures::all();
    let mbr = fixtures.iter().find(|one| one.name == "mbr-sfdisk");
    let image = &mbr.unwrap().image;
    let (hardware, blank) = (rig.sim.hardware(), Content::blank(image.length()));
    hardware.attach_disk(DATA, &spec(), &blank).unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    rig.disks().rescan(rig.soon()).unwrap();
    rig
}

fn mark(rig: &Rig, mark: Mark) {
    match mark {
        Mark::Role(role) => rig.give_role(role),
        Mark::Partition(kind) => rig.add_partition(kind, GIB, 64 << 20),
        Mark::Mbr(kind) => {
            let type_of_first_entry = 446 + 4;
            let hardware = rig.sim.hardware();
            hardware
                .write_disk(DATA, type_of_first_entry, &[kind])
                .unwrap();
            rig.disks().rescan(rig.soon()).unwrap();
        }
    }
}

/// All that writes to a disk that is online, by name; the last takes it offline.
fn write(rig: &Rig, disk: DiskNumber, volume: VolumeId) -> [(&str, Result<(), VolumeError>); 5] {
    let (disks, volumes, soon) = (rig.disks(), rig.volumes(), rig.soon());
    let options = FormatOptions::default();
    let ensured = volumes.ensure_formatted(volume, &options, soon).map(drop);
    let resized = volumes.resize(volume, NewSize::Maximum, soon).map(drop);
    [
        ("partition", disks.partition(disk, soon).map_err(Into::into)),
        ("format", volumes.format(volume, soon).map(drop)),
        ("ensure formatted", ensured),
        ("resize", resized),
        ("offline", disks.set_offline(disk, soon).map_err(Into::into)),
    ]
}

#[test]
fn each_mark_alone_keeps_a_disk_from_all_that_writes() {
    for (marked, reason) in MARKS {
        let rig = unmarked(marked);
        let (disk, volume) = (rig.disk(), rig.volume());
        mark(&rig, marked);
        let refused = || DiskError::Guarded { disk, reason };
        let before = rig.state();
        for (writer, done) in write(&rig, disk, volume) {
            assert_eq!(done, Err(refused().into()), "{writer}: {marked:?}");
        }
        assert_eq!(rig.state(), before, "{marked:?}");
        rig.force_offline();
        let online = rig.disks().set_online(disk, rig.soon());
        assert_eq!(online, Err(refused()), "online: {marked:?}");
        assert!(rig.os().disks.attributes(disk).unwrap().offline);
    }
}

#[test]
fn a_disk_with_a_mark_is_found_by_no_look_up() {
    let page83 = || Criterion::Page83(Page83::parse(PAGE83).unwrap());
    let wanted = DiskQuery::all([page83()]).unwrap();
    for (marked, reason) in MARKS {
        let rig = unmarked(marked);
        let (disk, disks) = (rig.disk(), rig.disks());
        assert_eq!(disks.by_page83(PAGE83, rig.soon()), Ok(disk), "{marked:?}");
        let found = disks.find(&wanted, rig.soon()).unwrap();
        assert_eq!(found.number(), disk, "{marked:?}");
        mark(&rig, marked);
        let named = disks.by_page83(PAGE83, rig.soon());
        let is_missing = matches!(named, Err(DiskError::NoSuchPage83 { .. }));
        assert!(is_missing, "{marked:?}: {named:?}");
        let Err(DiskError::NotIdentified(none)) = disks.find(&wanted, rig.soon()) else {
            panic!("{marked:?} is found");
        };
        let guarded: Vec<_> = none.guarded().map(ToString::to_string).collect();
        let says = format!("(left out: {reason})");
        assert!(
            matches!(guarded.as_slice(), [one] if one.ends_with(&says)),
            "{marked:?}: {guarded:?}"
        );
    }
}

/// Nobody knows on which disk a page file is that may not be looked at.
#[test]
fn a_page_file_that_may_not_be_looked_at_may_be_on_every_disk() {
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files = vec![r"C:\closed\pagefile.sys".to_owned()];
    let rig = Rig::of(&spec, Options::default());
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, GIB);
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object("*closed*"));
    let disk = rig.disk();
    let refused = rig.disks().partition(disk, rig.soon());
    assert!(
        matches!(refused, Err(DiskError::Paging { .. })),
        "{refused:?}"
    );
    let layout = rig.os().disks.layout(disk).unwrap();
    assert_eq!(layout.style, PartitionStyle::Raw);
}
