//! Every format that the scan knows, on a simulated disk, through the whole path of staging.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use formats::blank::Signature;
use formats::fixtures::Fixture;
use formats::fixtures::all;
use os::PartitionStyle;
use os_sim::Bus;
use os_sim::DiskSpec;
use support::DATA;
use support::Rig;
use wincsi_node::BlankError;
use wincsi_node::DiskError;
use wincsi_node::FormatGuard;
use wincsi_node::Options;
use wincsi_node::VolumeError;

const LENGTH: u64 = 256 << 20;

/// A Linux filesystem on a whole disk looks raw to Windows (kubernetes#102737, csi-proxy#104).
#[test]
fn no_known_format_on_a_whole_disk_is_overwritten() {
    let mut refused = 0;
    for fixture in all() {
        let rig = Rig::new();
        // A format whose place depends on an odd length keeps its own.
        let length = if is_ragged(&fixture) {
            fixture.image.length()
        } else {
            LENGTH
        };
        rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, length);
        put(&rig, &fixture, 0, length);
        rig.node.disks().rescan(rig.soon()).unwrap();
        let before = bytes(&rig, length);
        let partitioned = rig.node.disks().partition(rig.disk(), rig.soon());
        assert!(
            before == bytes(&rig, length),
            "{}: bytes changed",
            fixture.name
        );
        let layout = rig.os().disks.layout(rig.disk()).unwrap();
        if !layout.partitions.is_empty() {
            // A partition table with partitions: nothing is done to the disk, whatever comes of it.
            continue;
        }
        let Err(DiskError::Blank(error)) = partitioned else {
            panic!("{} in {:?}: {partitioned:?}", fixture.name, layout.style);
        };
        if layout.style == PartitionStyle::Raw {
            assert_names(&error, &fixture);
        }
        refused += 1;
    }
    println!("{refused} fixtures refused on a whole disk");
    assert!(refused > Signature::ALL.len() / 2);
}

#[test]
fn no_known_format_in_a_partition_is_overwritten() {
    let mut refused = 0;
    for fixture in all().into_iter().filter(|fixture| !is_ragged(fixture)) {
        let rig = Rig::new();
        rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
        rig.node.disks().partition(rig.disk(), rig.soon()).unwrap();
        let volume = rig.volume();
        let extent = rig.os().volumes.extents(volume).unwrap()[0];
        put(&rig, &fixture, extent.offset, extent.length);
        let before = bytes(&rig, LENGTH);
        let error = rig.node.volumes().format(volume, rig.soon()).unwrap_err();
        let VolumeError::Blank(error) = error else {
            panic!("{}: {error:?}", fixture.name);
        };
        assert_names(&error, &fixture);
        assert!(
            before == bytes(&rig, LENGTH),
            "{}: bytes changed",
            fixture.name
        );
        refused += 1;
    }
    println!("{refused} fixtures refused in a partition");
    assert!(refused >= Signature::ALL.len());
}

#[test]
fn bytes_that_nothing_explains_refuse_a_strict_node_alone() {
    for (format_guard, goes_on) in [
        (FormatGuard::Strict, false),
        (FormatGuard::Signatures, true),
    ] {
        let options = Options {
            format_guard,
            ..Options::default()
        };
        let rig = Rig::with(options);
        rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
        rig.sim
            .hardware()
            .write_disk(DATA, 2 << 20, b"what is this")
            .unwrap();
        let partitioned = rig.node.disks().partition(rig.disk(), rig.soon());
        assert_eq!(
            partitioned.is_ok(),
            goes_on,
            "{format_guard:?}: {partitioned:?}"
        );
    }
}

#[test]
fn a_disk_that_cannot_be_read_is_not_blank() {
    let rig = Rig::new();
    let spec = DiskSpec::on(Bus::Sas)
        .serial(DATA)
        .unreadable_at(LENGTH - 4096, 512);
    rig.plug(&spec, DATA, LENGTH);
    let refused = rig.node.disks().partition(rig.disk(), rig.soon());
    assert!(
        matches!(refused, Err(DiskError::Blank(BlankError::Unread { .. }))),
        "{refused:?}"
    );
    let layout = rig.os().disks.layout(rig.disk()).unwrap();
    assert_eq!(layout.style, PartitionStyle::Raw);
}

/// The refusal names the format, the disk and the offset.
fn assert_names(error: &BlankError, fixture: &Fixture) {
    let text = error.to_string();
    let named = format!("{} at offset ", fixture.signature);
    assert!(text.contains(&named), "{}: {text}", fixture.name);
    assert!(text.starts_with("disk 1"), "{}: {text}", fixture.name);
}

/// Partitions are whole MiB long, so an odd length is one of whole disks alone.
fn is_ragged(fixture: &Fixture) -> bool {
    !fixture.image.length().is_multiple_of(1 << 20)
}

/// Puts the image on the data disk, its end at the end of the stretch.
fn put(rig: &Rig, fixture: &Fixture, offset: u64, length: u64) {
    let image = fixture.image.resized(length);
    for (at, bytes) in image.runs() {
        rig.sim
            .hardware()
            .write_disk(DATA, offset + at, bytes)
            .unwrap();
    }
}

/// Both ends of the data disk.
fn bytes(rig: &Rig, length: u64) -> Vec<u8> {
    let mut head = vec![0; 4 << 20];
    let mut tail = vec![0; 1 << 20];
    rig.sim.hardware().read_disk(DATA, 0, &mut head).unwrap();
    rig.sim
        .hardware()
        .read_disk(DATA, length - (1 << 20), &mut tail)
        .unwrap();
    head.extend(tail);
    head
}
