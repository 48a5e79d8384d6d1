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
use support::counted;
use wincsi_node::BlankError;
use wincsi_node::DiskError;
use wincsi_node::FormatGuard;
use wincsi_node::Options;
use wincsi_node::VolumeError;

const LENGTH: u64 = 256 << 20;

/// How much of each end is compared, in bytes.
const HEAD: usize = 4 << 20;
const TAIL: usize = 1 << 20;

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
        let place = Place {
            fixture: &fixture,
            offset: 0,
            length,
            disk_length: length,
        };
        let before = place.fill(&rig);
        let partitioned = rig.node.disks().partition(rig.disk(), rig.soon());
        place.assert_unchanged(&rig, &before);
        let staged = rig.stage();
        let layout = rig.os().disks.layout(rig.disk()).unwrap();
        if !layout.partitions.is_empty() {
            // A table stays as it is; a blank partition that it has may be formatted.
            let is_kept = place.seen(&rig).content == before.content;
            assert!(is_kept, "{}: bytes changed", fixture.name);
            continue;
        }
        place.assert_unchanged(&rig, &before);
        let Err(DiskError::Blank(error)) = partitioned else {
            panic!("{} in {:?}: {partitioned:?}", fixture.name, layout.style);
        };
        let refusal = staged.expect_err(fixture.name);
        assert!(
            refusal.starts_with("disk 1 is not overwritten"),
            "{refusal}"
        );
        if layout.style == PartitionStyle::Raw {
            assert_names(&error, &fixture);
        }
        refused += 1;
    }
    counted(refused, "fixtures", "refused on a whole disk");
    assert!(refused > Signature::ALL.len() / 2);
}

#[test]
fn no_known_format_in_a_partition_is_overwritten() {
    let (mut refused, mut mounted) = (0, 0);
    for fixture in all().into_iter().filter(|fixture| !is_ragged(fixture)) {
        let rig = Rig::new();
        rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
        rig.node.disks().partition(rig.disk(), rig.soon()).unwrap();
        let volume = rig.volume();
        let extent = rig.os().volumes.extents(volume).unwrap()[0];
        let place = Place {
            fixture: &fixture,
            offset: extent.offset,
            length: extent.length,
            disk_length: LENGTH,
        };
        let before = place.fill(&rig);
        let error = rig.node.volumes().format(volume, rig.soon()).unwrap_err();
        let VolumeError::Blank(error) = error else {
            panic!("{}: {error:?}", fixture.name);
        };
        assert_names(&error, &fixture);
        place.assert_unchanged(&rig, &before);
        let staged = rig.stage();
        place.assert_unchanged(&rig, &before);
        match rig.node.volumes().is_formatted(volume, rig.soon()) {
            Ok(true) => {
                assert_eq!(staged, Ok(volume), "{}: goes as it is", fixture.name);
                mounted += 1;
            }
            _ => assert_eq!(staged, Err(error.to_string()), "{}", fixture.name),
        }
        refused += 1;
    }
    assert!(mounted > 0, "what Windows knows is mounted as it is");
    counted(refused, "fixtures", "refused in a partition");
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

/// Where on the data disk a fixture lies, its end at the end of the stretch.
struct Place<'a> {
    fixture: &'a Fixture,
    offset: u64,
    length: u64,
    disk_length: u64,
}

/// What is to stay as it is.
#[derive(PartialEq)]
struct Seen {
    /// What the fixture consists of.
    content: Vec<u8>,
    /// Both ends of the disk and of the stretch.
    ends: Vec<u8>,
}

impl Place<'_> {
    /// Puts the fixture there.
    fn fill(&self, rig: &Rig) -> Seen {
        let blank = self.seen(rig);
        for (at, bytes) in self.fixture.image.resized(self.length).runs() {
            let at = self.offset + at;
            rig.sim.hardware().write_disk(DATA, at, bytes).unwrap();
        }
        let filled = self.seen(rig);
        let shows = blank.content != filled.content && blank.ends != filled.ends;
        assert!(shows, "{}: is not looked at", self.fixture.name);
        filled
    }

    fn assert_unchanged(&self, rig: &Rig, before: &Seen) {
        let is_unchanged = self.seen(rig) == *before;
        assert!(is_unchanged, "{}: bytes changed", self.fixture.name);
    }

    fn seen(&self, rig: &Rig) -> Seen {
        let image = self.fixture.image.resized(self.length);
        let runs = image.runs();
        let runs = runs.map(|(at, bytes)| (self.offset + at, bytes.len()));
        let ends = [(0, self.disk_length), (self.offset, self.length)];
        let ends = ends.into_iter().flat_map(|(offset, length)| {
            let tail = u64::try_from(TAIL).unwrap();
            [(offset, HEAD), (offset + length - tail, TAIL)]
        });
        Seen {
            content: read(rig, runs),
            ends: read(rig, ends),
        }
    }
}

/// These stretches of the data disk, one after the other.
fn read(rig: &Rig, stretches: impl Iterator<Item = (u64, usize)>) -> Vec<u8> {
    let mut all = Vec::new();
    for (offset, length) in stretches {
        let mut bytes = vec![0; length];
        let disk = rig.sim.hardware();
        disk.read_disk(DATA, offset, &mut bytes).unwrap();
        all.extend(bytes);
    }
    all
}
