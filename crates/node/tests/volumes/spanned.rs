//! A volume that lies on several disks: it is found, mounted and flushed as any other, and no disk of it is written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskNumber, VolumeId};
use os_sim::VolumeExtent;
use uuid::Uuid;
use wincsi_node::{
    FormatGuard, FormatOptions, Kept, NewSize, Node, Options, Server, VisibilityError, VolumeError,
};

use crate::support::spanned::{SPANNED, Style};
use crate::support::{KUBELET, Rig, STAGING, path};

const MIB: u64 = 1 << 20;

fn disks(rig: &Rig) -> Vec<DiskNumber> {
    SPANNED.map(|name| rig.disk_of(name)).into()
}

#[track_caller]
fn assert_not_one<T: std::fmt::Debug>(done: Result<T, VolumeError>, wanted: &[DiskNumber]) {
    let Err(VolumeError::NotOnePartition { extents, disks, .. }) = done else {
        panic!("{done:?}");
    };
    assert_eq!((extents, disks.as_slice()), (2, wanted));
}

/// The operations of a server with this guard, which may wipe what is mounted outside of the kubelet's folder.
fn serve(rig: &Rig, guard: FormatGuard) -> Node {
    let mut options = Options::default();
    options.format_guard = guard;
    let kept = Kept {
        working_folders: vec![path(KUBELET)],
        ..Kept::default()
    };
    let server = Server {
        kept: Some(kept),
        ..Server::default()
    };
    Node::in_server(rig.os().clone(), options, server)
}

const GUARDS: [FormatGuard; 3] = [
    FormatGuard::Strict,
    FormatGuard::Signatures,
    FormatGuard::Off,
];

/// Has the first disk hold a volume in two parts, instead of a part of the spanned one.
fn in_two_parts(rig: &Rig, begins: u64) -> VolumeId {
    let volume = Uuid::from_u128(7);
    let part = |part, offset| VolumeExtent {
        volume,
        part,
        of: 2,
        offset,
        length: 8 * MIB,
    };
    rig.divide_first(vec![part(0, begins), part(1, begins + 24 * MIB)]);
    VolumeId(volume)
}

fn begins(rig: &Rig, volume: VolumeId) -> u64 {
    rig.os().volumes.extents(volume).unwrap()[0].offset
}

#[test]
fn a_path_on_a_spanned_volume_leads_to_it() {
    let rig = Rig::with_data_disk();
    let volume = rig.add_spanned_at(STAGING);
    rig.write(&format!(r"{STAGING}\data.txt"), "precious");
    let (volumes, soon) = (rig.volumes(), rig.soon());
    assert_eq!(volumes.of_target(&rig.staging(), soon), Ok(volume));
    let file = path(&format!(r"{STAGING}\data.txt"));
    assert_eq!(volumes.closest(&file, soon), Ok(volume));
    let found = volumes.find_at(&rig.staging(), soon).unwrap();
    assert_eq!(found.id(), volume);
}

#[test]
fn the_disk_of_a_spanned_volume_is_an_error_that_names_each() {
    let rig = Rig::with_data_disk();
    let volume = rig.add_spanned();
    let number = rig.volumes().disk_number(volume, rig.soon());
    assert_not_one(number, &disks(&rig));
    let sole = in_two_parts(&rig, begins(&rig, volume));
    let number = rig.volumes().disk_number(sole, rig.soon());
    assert_eq!(number, Ok(rig.disk_of(SPANNED[0])));
}

/// The first of several extents is neither where the volume is nor all of it. Each guard, also none; a provider that
/// has not noticed, and one that has; and two parts of one disk.
#[test]
fn a_spanned_volume_is_neither_formatted_nor_grown() {
    for style in [Style::Gpt, Style::Mbr] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable(style);
        let volume = rig.span();
        assert_unwritten(&rig, volume, &disks(&rig));
        rig.disks().rescan(rig.soon()).unwrap();
        assert_unwritten(&rig, volume, &disks(&rig));
        let sole = in_two_parts(&rig, begins(&rig, volume));
        assert_unwritten(&rig, sole, &disks(&rig)[..1]);
    }
}

#[track_caller]
fn assert_unwritten(rig: &Rig, volume: VolumeId, disks: &[DiskNumber]) {
    let before = (rig.spanned_bytes(), rig.state());
    for guard in GUARDS {
        let (node, soon) = (serve(rig, guard), rig.soon());
        let volumes = node.operations().volumes();
        assert_not_one(volumes.format(volume, soon), disks);
        let options = FormatOptions::default();
        assert_not_one(volumes.ensure_formatted(volume, &options, soon), disks);
        assert_not_one(volumes.resize(volume, NewSize::Maximum, soon), disks);
    }
    assert!((rig.spanned_bytes(), rig.state()) == before);
}

/// Whoever was given it as a local volume keeps what is on it.
#[test]
fn a_spanned_volume_that_was_released_is_not_wiped() {
    for guard in [FormatGuard::Signatures, FormatGuard::Off] {
        let rig = Rig::with_data_disk();
        let volume = rig.add_spanned_at(r"C:\mnt\disks\x");
        let file = r"C:\mnt\disks\x\data.txt";
        rig.write(file, "precious");
        let before = rig.spanned_bytes();
        let node = serve(&rig, guard);
        let volumes = node.operations().volumes();
        assert_eq!(volumes.is_formatted(volume, rig.soon()), Ok(true));
        assert_not_one(volumes.format(volume, rig.soon()), &disks(&rig));
        assert!(rig.spanned_bytes() == before, "{guard:?}");
        assert_eq!(rig.read(file), "precious");
    }
}

#[test]
fn a_spanned_volume_is_mounted_flushed_and_unmounted() {
    let rig = Rig::with_data_disk();
    let volume = rig.add_spanned_at(STAGING);
    let before = rig.spanned_bytes();
    rig.write(&format!(r"{STAGING}\data.txt"), "precious");
    let (volumes, soon) = (rig.volumes(), rig.soon());
    volumes.mount(volume, &rig.staging(), soon).unwrap();
    assert_eq!(volumes.is_formatted(volume, soon), Ok(true));
    let stats = volumes.stats(volume, soon).unwrap();
    assert!(stats.total > 90 * MIB, "{stats:?}");
    let flushes = |act: &dyn Fn()| {
        let trace = rig.trace(act);
        let flushed = trace.iter().filter(|op| op.operation == "FlushFileBuffers");
        flushed.filter(|op| op.object == volume.to_string()).count()
    };
    assert_eq!(flushes(&|| volumes.flush(volume, soon).unwrap()), 1);
    let unmount = || volumes.unmount(volume, &rig.staging(), soon).unwrap();
    assert_eq!(flushes(&unmount), 1);
    assert!(rig.os().volumes.access_paths(volume).unwrap().is_empty());
    volumes.mount(volume, &rig.staging(), soon).unwrap();
    assert_eq!(rig.read(&format!(r"{STAGING}\data.txt")), "precious");
    assert!(rig.spanned_bytes() == before);
}

/// The volume is gone with any of its disks, and the folder is stale then.
#[test]
fn a_spanned_volume_without_one_of_its_disks_is_no_volume() {
    let rig = Rig::with_volume();
    let volume = rig.add_spanned_at(STAGING);
    rig.sim.hardware().detach_disk(SPANNED[1]).unwrap();
    let (volumes, soon) = (rig.volumes(), rig.soon());
    assert!(volumes.disk_number(volume, soon).is_err());
    assert!(volumes.is_formatted(volume, soon).is_err());
    assert!(volumes.of_target(&rig.staging(), soon).is_err());
    let first = rig.disk_of(SPANNED[0]);
    assert_eq!(volumes.list_on_disk(first, None, soon), Ok(Vec::new()));
    let over = volumes.mount_over_stale(rig.volume(), &rig.staging(), soon);
    assert_eq!(over, Ok(()));
    assert_eq!(volumes.of_target(&rig.staging(), soon), Ok(rig.volume()));
}

#[test]
fn each_disk_of_a_spanned_volume_has_it() {
    for style in [Style::Gpt, Style::Mbr] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable(style);
        let volume = rig.span();
        rig.disks().rescan(rig.soon()).unwrap();
        let volumes = rig.volumes();
        for disk in disks(&rig) {
            let listed = volumes.list_on_disk(disk, None, rig.soon());
            assert_eq!(listed, Ok(vec![volume]), "{style:?} {disk}");
            let sole = volumes.sole_on_disk(disk, rig.soon());
            assert_eq!(sole, Ok(volume), "{style:?} {disk}");
        }
        let sole = in_two_parts(&rig, begins(&rig, volume));
        let listed = volumes.list_on_disk(disks(&rig)[0], None, rig.soon());
        assert_eq!(listed, Ok(vec![sole]), "two parts are one volume");
    }
}

/// A driver takes the one volume of a list for its own: the partition of a dynamic disk may hold several, and only
/// one begins where it begins.
#[test]
fn a_dynamic_disk_with_two_volumes_has_no_one_volume() {
    for style in [Style::Gpt, Style::Mbr] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable(style);
        let volume = rig.span();
        let begins = begins(&rig, volume);
        let simple = |number, offset| VolumeExtent {
            volume: Uuid::from_u128(number),
            part: 0,
            of: 1,
            offset,
            length: 8 * MIB,
        };
        let [first, second] = [(1, begins), (2, begins + 8 * MIB)];
        rig.divide_first(vec![simple(first.0, first.1), simple(second.0, second.1)]);
        let disk = disks(&rig)[0];
        let listed = rig.volumes().list_on_disk(disk, None, rig.soon());
        let Err(VolumeError::Visibility(VisibilityError::Several { volumes, .. })) = listed else {
            panic!("{style:?}: {listed:?}");
        };
        let both = [1, 2].map(|number| VolumeId(Uuid::from_u128(number)));
        assert_eq!(volumes, both, "{style:?}");
        let sole = rig.volumes().sole_on_disk(disk, rig.soon());
        assert!(sole.is_err(), "{style:?}: {sole:?}");
    }
}
