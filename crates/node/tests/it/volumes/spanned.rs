//! A volume that lies on several disks: it is found, mounted and flushed as any other, and no disk of it is written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskNumber, VolumeId};
use os_sim::VolumeExtent;
use uuid::Uuid;
use wincsi_node::{FormatGuard, FormatOptions, NewSize, VisibilityError, VolumeError};

use crate::support::spanned::{SPANNED, Style};
use crate::support::{NodeFixture, STAGING, path};

const MIB: u64 = 1 << 20;

fn disks(fixture: &NodeFixture) -> Vec<DiskNumber> {
    SPANNED.map(|name| fixture.disk_of(name)).into()
}

#[track_caller]
fn assert_not_one<T: std::fmt::Debug>(done: Result<T, VolumeError>, wanted: &[DiskNumber]) {
    let Err(VolumeError::NotOnePartition { extents, disks, .. }) = done else {
        panic!("{done:?}");
    };
    assert_eq!((extents, disks.as_slice()), (2, wanted));
}

const GUARDS: [FormatGuard; 3] = [
    FormatGuard::Strict,
    FormatGuard::Signatures,
    FormatGuard::Off,
];

/// Has the first disk hold a volume in two parts, instead of a part of the spanned one.
fn in_two_parts(fixture: &NodeFixture, begins: u64) -> VolumeId {
    let volume = Uuid::from_u128(7);
    let part = |part, offset| VolumeExtent {
        volume,
        part,
        of: 2,
        offset,
        length: 8 * MIB,
    };
    fixture.divide_first(vec![part(0, begins), part(1, begins + 24 * MIB)]);
    VolumeId(volume)
}

fn begins(fixture: &NodeFixture, volume: VolumeId) -> u64 {
    fixture.os().volumes.extents(volume).unwrap()[0].offset
}

#[test]
fn a_path_on_a_spanned_volume_leads_to_it() {
    let fixture = NodeFixture::with_data_disk();
    let volume = fixture.add_spanned_at(STAGING);
    fixture.write(&format!(r"{STAGING}\data.txt"), "precious");
    let (volumes, soon) = (fixture.volumes(), fixture.soon());
    assert_eq!(volumes.of_target(&fixture.staging(), soon), Ok(volume));
    let file = path(&format!(r"{STAGING}\data.txt"));
    assert_eq!(volumes.closest(&file, soon), Ok(volume));
    let found = volumes.find_at(&fixture.staging(), soon).unwrap();
    assert_eq!(found.id(), volume);
}

#[test]
fn the_disk_of_a_spanned_volume_is_an_error_that_names_each() {
    let fixture = NodeFixture::with_data_disk();
    let volume = fixture.add_spanned();
    let number = fixture.volumes().disk_number(volume, fixture.soon());
    assert_not_one(number, &disks(&fixture));
    let sole = in_two_parts(&fixture, begins(&fixture, volume));
    let number = fixture.volumes().disk_number(sole, fixture.soon());
    assert_eq!(number, Ok(fixture.disk_of(SPANNED[0])));
}

/// The first of several extents is neither where the volume is nor all of it. Each guard, also none; a provider that
/// has not noticed, and one that has; and two parts of one disk.
/// Guards: P63
#[test]
fn a_spanned_volume_is_neither_formatted_nor_grown() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(style);
        let volume = fixture.span();
        assert_unwritten(&fixture, volume, &disks(&fixture));
        fixture.rescan();
        assert_unwritten(&fixture, volume, &disks(&fixture));
        let sole = in_two_parts(&fixture, begins(&fixture, volume));
        assert_unwritten(&fixture, sole, &disks(&fixture)[..1]);
    }
}

#[track_caller]
fn assert_unwritten(fixture: &NodeFixture, volume: VolumeId, disks: &[DiskNumber]) {
    let before = (fixture.spanned_bytes(), fixture.state());
    for guard in GUARDS {
        let (node, soon) = (fixture.served(guard), fixture.soon());
        let volumes = node.operations().volumes();
        assert_not_one(volumes.format(volume, soon), disks);
        let options = FormatOptions::default();
        assert_not_one(volumes.ensure_formatted(volume, &options, soon), disks);
        assert_not_one(volumes.resize(volume, NewSize::Maximum, soon), disks);
    }
    assert!((fixture.spanned_bytes(), fixture.state()) == before);
}

/// A pod that has it as a local volume keeps its data.
#[test]
fn a_spanned_volume_that_was_released_is_not_wiped() {
    for guard in [FormatGuard::Signatures, FormatGuard::Off] {
        let fixture = NodeFixture::with_data_disk();
        let volume = fixture.add_spanned_at(r"C:\mnt\disks\x");
        let file = r"C:\mnt\disks\x\data.txt";
        fixture.write(file, "precious");
        let before = fixture.spanned_bytes();
        let node = fixture.served(guard);
        let volumes = node.operations().volumes();
        assert_eq!(volumes.is_formatted(volume, fixture.soon()), Ok(true));
        assert_not_one(volumes.format(volume, fixture.soon()), &disks(&fixture));
        assert!(fixture.spanned_bytes() == before, "{guard:?}");
        assert_eq!(fixture.read(file), "precious");
    }
}

#[test]
fn a_spanned_volume_is_mounted_flushed_and_unmounted() {
    let fixture = NodeFixture::with_data_disk();
    let volume = fixture.add_spanned_at(STAGING);
    let before = fixture.spanned_bytes();
    fixture.write(&format!(r"{STAGING}\data.txt"), "precious");
    let (volumes, soon) = (fixture.volumes(), fixture.soon());
    volumes.mount(volume, &fixture.staging(), soon).unwrap();
    assert_eq!(volumes.is_formatted(volume, soon), Ok(true));
    let stats = volumes.stats(volume, soon).unwrap();
    assert!(stats.total > 90 * MIB, "{stats:?}");
    let flushes = |act: &dyn Fn()| {
        let trace = fixture.trace(act);
        let flushed = trace.iter().filter(|op| op.operation == "FlushFileBuffers");
        flushed.filter(|op| op.object == volume.to_string()).count()
    };
    assert_eq!(flushes(&|| volumes.flush(volume, soon).unwrap()), 1);
    let unmount = || volumes.unmount(volume, &fixture.staging(), soon).unwrap();
    assert_eq!(flushes(&unmount), 1);
    assert!(
        fixture
            .os()
            .volumes
            .access_paths(volume)
            .unwrap()
            .is_empty()
    );
    volumes.mount(volume, &fixture.staging(), soon).unwrap();
    assert_eq!(fixture.read(&format!(r"{STAGING}\data.txt")), "precious");
    assert!(fixture.spanned_bytes() == before);
}

/// The volume is gone with any of its disks, and the folder is stale then.
#[test]
fn a_spanned_volume_without_one_of_its_disks_is_no_volume() {
    let fixture = NodeFixture::with_volume();
    let volume = fixture.add_spanned_at(STAGING);
    fixture.hardware().detach_disk(SPANNED[1]).unwrap();
    let (volumes, soon) = (fixture.volumes(), fixture.soon());
    assert!(volumes.disk_number(volume, soon).is_err());
    assert!(volumes.is_formatted(volume, soon).is_err());
    assert!(volumes.of_target(&fixture.staging(), soon).is_err());
    let first = fixture.disk_of(SPANNED[0]);
    assert_eq!(volumes.list_on_disk(first, None, soon), Ok(Vec::new()));
    let over = volumes.mount_over_stale(fixture.volume(), &fixture.staging(), soon);
    assert_eq!(over, Ok(()));
    assert_eq!(
        volumes.of_target(&fixture.staging(), soon),
        Ok(fixture.volume())
    );
}

#[test]
fn each_disk_of_a_spanned_volume_has_it() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(style);
        let volume = fixture.span();
        fixture.rescan();
        let volumes = fixture.volumes();
        for disk in disks(&fixture) {
            let listed = volumes.list_on_disk(disk, None, fixture.soon());
            assert_eq!(listed, Ok(vec![volume]), "{style:?} {disk}");
            let sole = volumes.sole_on_disk(disk, fixture.soon());
            assert_eq!(sole, Ok(volume), "{style:?} {disk}");
        }
        let sole = in_two_parts(&fixture, begins(&fixture, volume));
        let listed = volumes.list_on_disk(disks(&fixture)[0], None, fixture.soon());
        assert_eq!(listed, Ok(vec![sole]), "two parts are one volume");
    }
}

/// A driver takes the one volume of a list for its own: the partition of a dynamic disk may hold several, and only
/// one begins where it begins.
#[test]
fn a_dynamic_disk_with_two_volumes_has_no_one_volume() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(style);
        let volume = fixture.span();
        let begins = begins(&fixture, volume);
        let simple = |number, offset| VolumeExtent {
            volume: Uuid::from_u128(number),
            part: 0,
            of: 1,
            offset,
            length: 8 * MIB,
        };
        let [first, second] = [(1, begins), (2, begins + 8 * MIB)];
        fixture.divide_first(vec![simple(first.0, first.1), simple(second.0, second.1)]);
        let disk = disks(&fixture)[0];
        let listed = fixture.volumes().list_on_disk(disk, None, fixture.soon());
        let Err(VolumeError::Visibility(VisibilityError::Several { volumes, .. })) = listed else {
            panic!("{style:?}: {listed:?}");
        };
        let both = [1, 2].map(|number| VolumeId(Uuid::from_u128(number)));
        assert_eq!(volumes, both, "{style:?}");
        let sole = fixture.volumes().sole_on_disk(disk, fixture.soon());
        assert!(sole.is_err(), "{style:?}: {sole:?}");
    }
}
