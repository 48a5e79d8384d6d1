//! A format that died half-way is finished by the next call, and nobody else's data is taken for one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::{Effect, Rule};
use wincsi_node::{FormatGuard, FormatOptions, Formatted, Node, Replaced, VolumeError};

use crate::support::{DATA, NodeFixture, assert_says, path};

/// NTFS's clusters on a volume of the tests, in bytes.
const CLUSTER: u64 = 4096;

/// In either order of the two copies of a boot sector.
const HALVES: [Effect; 2] = [Effect::HalfWay, Effect::HalfWayFromEnd];

/// A node whose volume was blank when a format of it stopped there.
fn stopped(half_way: Effect) -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    stop(&fixture, &fixture.node, half_way).unwrap_err();
    fixture
}

fn stop(fixture: &NodeFixture, node: &Node, half_way: Effect) -> Result<Replaced, VolumeError> {
    let rule = Rule::on("MSFT_Volume.Format", half_way).times(1);
    fixture.fault(rule);
    let done = format(fixture, node);
    let volumes = fixture.volumes();
    assert_eq!(
        volumes.is_formatted(fixture.volume(), fixture.soon()),
        Ok(false)
    );
    done
}

fn format(fixture: &NodeFixture, node: &Node) -> Result<Replaced, VolumeError> {
    let volumes = node.operations().volumes();
    volumes.format(fixture.volume(), fixture.soon())
}

/// Writes to the volume past all rules.
fn write(fixture: &NodeFixture, offset: u64, bytes: &[u8]) {
    let volume = fixture.os().volumes.extents(fixture.volume()).unwrap()[0];
    let at = volume.offset + offset;
    fixture.overwrite(DATA, at, bytes);
}

/// Where the simulated NTFS has its master file table.
fn table(fixture: &NodeFixture) -> u64 {
    let volume = fixture.os().volumes.extents(fixture.volume()).unwrap()[0];
    let clusters = (volume.length - 512) / CLUSTER;
    clusters / 3 * CLUSTER
}

/// Guards: P70
#[test]
fn a_format_that_died_half_way_is_finished_by_the_same_process_and_by_the_next() {
    for half_way in HALVES {
        let fixture = stopped(half_way.clone());
        assert_eq!(
            format(&fixture, &fixture.node),
            Ok(Replaced::Nothing),
            "{half_way:?}"
        );
        let fixture = stopped(half_way.clone()).reopened();
        assert_eq!(
            format(&fixture, &fixture.node),
            Ok(Replaced::Nothing),
            "{half_way:?}"
        );
        let fixture = stopped(half_way).reopened();
        let ntfs = FormatOptions::default();
        let ensured = fixture
            .volumes()
            .ensure_formatted(fixture.volume(), &ntfs, fixture.soon());
        assert_eq!(ensured, Ok(Formatted::Now));
    }
}

/// A boot sector with a table, with its mirror, or with anything else is somebody's NTFS that was damaged.
/// Guards: P70
#[test]
fn a_boot_sector_with_anything_of_a_filesystem_has_an_owner() {
    for half_way in HALVES {
        let places: [fn(&NodeFixture) -> u64; 4] =
            [table, |_| 2 * CLUSTER, |_| 3 << 20, |_| 64 << 10];
        for place in places {
            let fixture = stopped(half_way.clone()).reopened();
            let at = place(&fixture);
            write(&fixture, at, b"BAAD");
            let refused = format(&fixture, &fixture.node).unwrap_err().to_string();
            assert!(
                refused.contains("it holds NTFS filesystem"),
                "{at}: {refused}"
            );
        }
    }
}

/// Its old file table is there still, so that another process cannot tell it from a damaged filesystem. With the
/// first copy of its boot sector it would be the old filesystem again.
/// Guards: P70
#[test]
fn a_wipe_that_died_half_way_is_finished_by_the_same_process_alone() {
    let fixture = NodeFixture::with_volume();
    let folder = path(r"C:\mnt\disks\x");
    let soon = fixture.soon();
    fixture.filesystem().make_directory(&folder, soon).unwrap();
    fixture
        .volumes()
        .mount(fixture.volume(), &folder, soon)
        .unwrap();
    let [node, next] = [(); 2].map(|()| fixture.served(FormatGuard::Signatures));
    stop(&fixture, &node, Effect::HalfWayFromEnd).unwrap_err();
    let refused = format(&fixture, &next).unwrap_err().to_string();
    assert!(refused.contains("-format-guard=off"), "{refused}");
    assert_eq!(format(&fixture, &node), Ok(Replaced::Nothing));
}

/// A filesystem that came late, or that somebody else made, was used and is damaged now.
#[test]
fn what_was_written_after_a_format_failed_is_kept_by_the_same_process_too() {
    for half_way in HALVES {
        let fixture = stopped(half_way.clone());
        write(&fixture, 64 << 10, b"BAAD");
        let refused = format(&fixture, &fixture.node).unwrap_err().to_string();
        assert!(
            refused.contains("it holds NTFS filesystem"),
            "{half_way:?}: {refused}"
        );
    }
}

/// Another system's filesystem is none that a format left.
/// Guards: P70
#[test]
fn what_came_after_a_format_that_failed_is_kept() {
    let fixture = stopped(Effect::HalfWay);
    write(&fixture, 0, &[0; 512]);
    write(&fixture, 1080, &[0x53, 0xef]);
    let refused = format(&fixture, &fixture.node).unwrap_err().to_string();
    assert_says(&refused, "is not overwritten: it holds ext");
}
