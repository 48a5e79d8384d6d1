//! Finding the volume that a driver means, and writing to no other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Deadline, VolumeId, WinPath};
use os_sim::{Bus, DiskSpec, Op};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, Formatted, FoundDisk, FoundVolume, NewSize,
    Node, SerialNumber, TargetError, VolumeError,
};

use crate::support::{DATA, GIB, NodeFixture, path};

const OTHER: &str = "other";

fn serial(text: &str) -> Criterion {
    Criterion::Serial(SerialNumber::parse(text).unwrap())
}

fn disk(fixture: &NodeFixture, criteria: impl IntoIterator<Item = Criterion>) -> FoundDisk {
    let query = DiskQuery::all(criteria).unwrap();
    fixture.disks().find(&query, fixture.soon()).unwrap()
}

/// A node with two disks, each with a volume that has no filesystem.
fn with_raw_volumes() -> NodeFixture {
    let fixture = NodeFixture::new();
    for (lun, name) in [(1, DATA), (2, OTHER)] {
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(name).lun(lun), name, GIB);
        let disk = disk(&fixture, [serial(name)]);
        fixture.disks().partition(&disk, fixture.soon()).unwrap();
    }
    fixture
}

fn volume_of(fixture: &NodeFixture, serial: &str) -> VolumeId {
    let volumes = fixture.volumes();
    volumes
        .sole_on_disk(fixture.disk_of(serial), fixture.soon())
        .unwrap()
}

fn mount(fixture: &NodeFixture, volume: VolumeId) -> WinPath {
    let (node, staging) = (&fixture.node, fixture.staging());
    node.operations()
        .filesystem()
        .make_directory(&staging, fixture.soon())
        .unwrap();
    node.operations()
        .volumes()
        .mount(volume, &staging, fixture.soon())
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

/// The error of each of [`WRITES`] for this volume; nothing is written afterwards.
fn refusals(fixture: &NodeFixture, volume: &FoundVolume) -> Vec<(&'static str, VolumeError)> {
    let refused = WRITES.map(|(name, write)| {
        let mut refused = None;
        let trace = fixture.trace(|| refused = Some(write(&fixture.node, volume, fixture.soon())));
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
    let fixture = with_raw_volumes();
    let (volumes, soon) = (fixture.volumes(), fixture.soon());
    let by_disk = volumes
        .find_on(&disk(&fixture, [serial(DATA)]), soon)
        .unwrap();
    assert_eq!(by_disk.id(), volume_of(&fixture, DATA));
    let plain = FormatOptions::default();
    let first = volumes.ensure_formatted(&by_disk, &plain, soon);
    assert_eq!(first, Ok(Formatted::Now));
    let path = mount(&fixture, by_disk.id());
    let by_path = volumes.find_at(&path, soon).unwrap();
    assert_eq!(by_path, FoundVolume::mounted_at(by_disk.id(), path));
    let again = volumes.ensure_formatted(&by_path, &plain, soon);
    assert_eq!(again, Ok(Formatted::Before));
    for (found, size) in [(by_disk, 2 * GIB), (by_path, 3 * GIB)] {
        fixture.grow(DATA, size);
        fixture.disks().rescan(soon).unwrap();
        volumes.resize(&found, NewSize::Maximum, soon).unwrap();
        let total = volumes.stats(found.id(), soon).unwrap().total;
        assert!(total > size - (1 << 28), "{total}");
    }
}

/// The number that a caller had led to the volume of another disk.
/// Guards: P61
#[test]
fn a_volume_of_another_disk_than_the_one_that_was_found_is_not_written() {
    let fixture = with_raw_volumes();
    let (found, volume) = (disk(&fixture, [serial(DATA)]), volume_of(&fixture, OTHER));
    let not_its = FoundVolume::on_disk(volume, found);
    for (name, refused) in refusals(&fixture, &not_its) {
        let expected = VolumeError::OnAnotherDisk {
            volume,
            found: fixture.disk(),
            disk: fixture.disk_of(OTHER),
        };
        assert_eq!(refused, expected, "{name}");
    }
}

#[test]
fn a_volume_of_a_disk_that_went_is_not_found_on_the_next_with_its_number() {
    let fixture = with_raw_volumes();
    let found = disk(&fixture, [serial(DATA)]);
    fixture.hardware().detach_disk(DATA).unwrap();
    fixture.rescan();
    fixture.plug(&DiskSpec::on(Bus::Sas).serial("next").lun(1), "next", GIB);
    let next = disk(&fixture, [serial("next")]);
    assert_eq!(next.number(), found.number(), "the number is reused");
    fixture.disks().partition(&next, fixture.soon()).unwrap();
    let refused = fixture.volumes().find_on(&found, fixture.soon());
    let is_it =
        |error: &VolumeError| matches!(error, VolumeError::Disk(DiskError::NotTheFound { .. }));
    assert!(refused.as_ref().is_err_and(is_it), "{refused:?}");
    let not_its = FoundVolume::on_disk(volume_of(&fixture, "next"), found);
    for (name, refused) in refusals(&fixture, &not_its) {
        assert!(is_it(&refused), "{name}: {refused:?}");
    }
}

#[test]
fn a_volume_that_is_not_mounted_where_it_was_found_is_not_written() {
    let fixture = with_raw_volumes();
    let [volume, mounted] = [DATA, OTHER].map(|serial| volume_of(&fixture, serial));
    let path = mount(&fixture, mounted);
    let elsewhere = FoundVolume::mounted_at(volume, path.clone());
    for (name, refused) in refusals(&fixture, &elsewhere) {
        let expected = VolumeError::NotMountedThere {
            volume,
            mounted,
            path: path.to_string(),
        };
        assert_eq!(refused, expected, "{name}");
    }
    let unmounted = fixture.volumes().find_at(&path, fixture.soon()).unwrap();
    fixture
        .volumes()
        .unmount(mounted, &path, fixture.soon())
        .unwrap();
    for (name, refused) in refusals(&fixture, &unmounted) {
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
    let fixture = with_raw_volumes();
    let (volumes, soon) = (fixture.volumes(), fixture.soon());
    let before = disk(&fixture, [serial(DATA), Criterion::Size(GIB)]);
    let before = volumes.find_on(&before, soon).unwrap();
    volumes.format(&before, soon).unwrap();
    fixture.grow(DATA, 2 * GIB);
    fixture.disks().rescan(soon).unwrap();
    let refused = volumes.resize(&before, NewSize::Maximum, soon);
    assert!(
        matches!(
            refused,
            Err(VolumeError::Disk(DiskError::NotTheFound { .. }))
        ),
        "{refused:?}"
    );
    let now = disk(&fixture, [serial(DATA), Criterion::Size(2 * GIB)]);
    let now = volumes.find_on(&now, soon).unwrap();
    volumes.resize(&now, NewSize::Maximum, soon).unwrap();
}
