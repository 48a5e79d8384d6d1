//! Finding the volume that a driver means, and writing to no other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Deadline, VolumeId, WinPath};
use os_sim::{Bus, DiskSpec, Op};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, Formatted, FoundDisk, FoundVolume, NewSize,
    Node, SerialNumber, TargetError, VolumeError,
};

use crate::support::{DATA, GIB, Rig, path};

const OTHER: &str = "other";

fn serial(text: &str) -> Criterion {
    Criterion::Serial(SerialNumber::parse(text).unwrap())
}

fn disk(rig: &Rig, criteria: impl IntoIterator<Item = Criterion>) -> FoundDisk {
    let query = DiskQuery::all(criteria).unwrap();
    rig.disks().find(&query, rig.soon()).unwrap()
}

/// A node with two disks, each with a volume that has no filesystem.
fn with_raw_volumes() -> Rig {
    let rig = Rig::new();
    for (lun, name) in [(1, DATA), (2, OTHER)] {
        rig.plug(&DiskSpec::on(Bus::Sas).serial(name).lun(lun), name, GIB);
        let disk = disk(&rig, [serial(name)]);
        rig.disks().partition(&disk, rig.soon()).unwrap();
    }
    rig
}

fn volume_of(rig: &Rig, serial: &str) -> VolumeId {
    let volumes = rig.volumes();
    volumes
        .sole_on_disk(rig.disk_of(serial), rig.soon())
        .unwrap()
}

fn mount(rig: &Rig, volume: VolumeId) -> WinPath {
    let (node, staging) = (&rig.node, rig.staging());
    node.operations()
        .filesystem()
        .make_directory(&staging, rig.soon())
        .unwrap();
    node.operations()
        .volumes()
        .mount(volume, &staging, rig.soon())
        .unwrap();
    staging
}

type Write = fn(&Node, &FoundVolume, Deadline) -> Result<(), VolumeError>;

const WRITES: [(&str, Write); 4] = [
    ("format", |node, volume, soon| {
        let formatted = node.operations().volumes().format(volume, soon);
        formatted.map(drop)
    }),
    ("ensure_formatted", |node, volume, soon| {
        let options = FormatOptions::default();
        let ensured = node
            .operations()
            .volumes()
            .ensure_formatted(volume, &options, soon);
        ensured.map(drop)
    }),
    ("mount", |node, volume, soon| {
        let folder = path(r"C:\var");
        node.operations()
            .volumes()
            .mount_over_stale(volume, &folder, soon)
    }),
    ("resize", |node, volume, soon| {
        let resized = node
            .operations()
            .volumes()
            .resize(volume, NewSize::Maximum, soon);
        resized.map(drop)
    }),
];

/// What each of [`WRITES`] says to this volume, after which nothing is written.
fn refusals(rig: &Rig, volume: &FoundVolume) -> Vec<(&'static str, VolumeError)> {
    let refused = WRITES.map(|(name, write)| {
        let mut refused = None;
        let trace = rig.trace(|| refused = Some(write(&rig.node, volume, rig.soon())));
        assert_eq!(written(&trace), None, "{name}");
        (name, refused.unwrap().unwrap_err())
    });
    refused.into()
}

fn written(trace: &[Op]) -> Option<&Op> {
    let writes = [
        "MSFT_Volume.",
        "MSFT_Partition.",
        "FSCTL_EXTEND_VOLUME",
        "SetVolumeMountPointW",
    ];
    let is_write = |op: &&Op| writes.iter().any(|write| op.operation.starts_with(write));
    trace.iter().find(is_write)
}

#[test]
fn a_volume_is_found_by_its_disk_and_by_its_path() {
    let rig = with_raw_volumes();
    let (volumes, soon) = (rig.volumes(), rig.soon());
    let by_disk = volumes.find_on(&disk(&rig, [serial(DATA)]), soon).unwrap();
    assert_eq!(by_disk.id(), volume_of(&rig, DATA));
    let plain = FormatOptions::default();
    let first = volumes.ensure_formatted(&by_disk, &plain, soon);
    assert_eq!(first, Ok(Formatted::Now));
    let path = mount(&rig, by_disk.id());
    let by_path = volumes.find_at(&path, soon).unwrap();
    assert_eq!(by_path, FoundVolume::mounted_at(by_disk.id(), path));
    let again = volumes.ensure_formatted(&by_path, &plain, soon);
    assert_eq!(again, Ok(Formatted::Before));
    for (found, size) in [(by_disk, 2 * GIB), (by_path, 3 * GIB)] {
        rig.sim.hardware().grow_disk(DATA, size).unwrap();
        rig.disks().rescan(soon).unwrap();
        volumes.resize(&found, NewSize::Maximum, soon).unwrap();
        let total = volumes.stats(found.id(), soon).unwrap().total;
        assert!(total > size - (1 << 28), "{total}");
    }
}

/// The number that a caller had led to the volume of another disk.
#[test]
fn a_volume_of_another_disk_than_the_one_that_was_found_is_not_written() {
    let rig = with_raw_volumes();
    let (found, volume) = (disk(&rig, [serial(DATA)]), volume_of(&rig, OTHER));
    let not_its = FoundVolume::on_disk(volume, found);
    for (name, refused) in refusals(&rig, &not_its) {
        let expected = VolumeError::OnAnotherDisk {
            volume,
            found: rig.disk(),
            disk: rig.disk_of(OTHER),
        };
        assert_eq!(refused, expected, "{name}");
    }
}

#[test]
fn a_volume_of_a_disk_that_went_is_not_found_on_the_next_with_its_number() {
    let rig = with_raw_volumes();
    let found = disk(&rig, [serial(DATA)]);
    rig.sim.hardware().detach_disk(DATA).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    rig.plug(&DiskSpec::on(Bus::Sas).serial("next").lun(1), "next", GIB);
    let next = disk(&rig, [serial("next")]);
    assert_eq!(next.number(), found.number(), "the number is reused");
    rig.disks().partition(&next, rig.soon()).unwrap();
    let refused = rig.volumes().find_on(&found, rig.soon());
    let is_it =
        |error: &VolumeError| matches!(error, VolumeError::Disk(DiskError::NotTheFound { .. }));
    assert!(refused.as_ref().is_err_and(is_it), "{refused:?}");
    let not_its = FoundVolume::on_disk(volume_of(&rig, "next"), found);
    for (name, refused) in refusals(&rig, &not_its) {
        assert!(is_it(&refused), "{name}: {refused:?}");
    }
}

#[test]
fn a_volume_that_is_not_mounted_where_it_was_found_is_not_written() {
    let rig = with_raw_volumes();
    let [volume, mounted] = [DATA, OTHER].map(|serial| volume_of(&rig, serial));
    let path = mount(&rig, mounted);
    let elsewhere = FoundVolume::mounted_at(volume, path.clone());
    for (name, refused) in refusals(&rig, &elsewhere) {
        let expected = VolumeError::NotMountedThere {
            volume,
            mounted,
            path: path.to_string(),
        };
        assert_eq!(refused, expected, "{name}");
    }
    let unmounted = rig.volumes().find_at(&path, rig.soon()).unwrap();
    rig.volumes().unmount(mounted, &path, rig.soon()).unwrap();
    for (name, refused) in refusals(&rig, &unmounted) {
        let target = matches!(
            refused,
            VolumeError::Target(TargetError::PlainDirectory { .. })
        );
        assert!(target, "{name}: {refused:?}");
    }
}

/// Its size was part of what it was known by.
#[test]
fn a_volume_of_a_disk_that_was_found_by_its_size_is_found_anew_once_that_has_grown() {
    let rig = with_raw_volumes();
    let (volumes, soon) = (rig.volumes(), rig.soon());
    let before = disk(&rig, [serial(DATA), Criterion::Size(GIB)]);
    let before = volumes.find_on(&before, soon).unwrap();
    volumes.format(&before, soon).unwrap();
    rig.sim.hardware().grow_disk(DATA, 2 * GIB).unwrap();
    rig.disks().rescan(soon).unwrap();
    let refused = volumes.resize(&before, NewSize::Maximum, soon);
    assert!(
        matches!(
            refused,
            Err(VolumeError::Disk(DiskError::NotTheFound { .. }))
        ),
        "{refused:?}"
    );
    let now = disk(&rig, [serial(DATA), Criterion::Size(2 * GIB)]);
    let now = volumes.find_on(&now, soon).unwrap();
    volumes.resize(&now, NewSize::Maximum, soon).unwrap();
}
