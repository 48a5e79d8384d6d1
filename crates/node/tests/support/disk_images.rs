//! A format on the data disk, and whether it stays as it was.

use formats::fixtures::Fixture;
use wincsi_node::BlankError;

use super::{DATA, NodeFixture};

pub(crate) const LENGTH: u64 = 256 << 20;

/// How much of each end is compared, in bytes.
const HEAD: usize = 4 << 20;
const TAIL: usize = 1 << 20;

/// The refusal names the format, the disk and the offset.
pub(crate) fn assert_names(error: &BlankError, disk_image: &Fixture) {
    let text = error.to_string();
    let named = format!("{} at offset ", disk_image.signature);
    assert!(text.contains(&named), "{}: {text}", disk_image.name);
    assert!(text.starts_with("disk 1"), "{}: {text}", disk_image.name);
}

/// Where on the data disk a fixture lies, its end at the end of the stretch.
pub(crate) struct ImageSlot<'a> {
    disk_image: &'a Fixture,
    offset: u64,
    length: u64,
    disk_length: u64,
}

/// The content that must stay.
#[derive(PartialEq)]
pub(crate) struct Seen {
    /// The content of the fixture.
    pub(crate) content: Vec<u8>,
    /// Both ends of the disk and of the stretch.
    ends: Vec<u8>,
}

impl<'a> ImageSlot<'a> {
    /// The whole data disk, of this length.
    pub(crate) fn whole(_: &NodeFixture, disk_image: &'a Fixture, length: u64) -> Self {
        Self {
            disk_image,
            offset: 0,
            length,
            disk_length: length,
        }
    }

    /// The data partition of a disk of this length, made now.
    pub(crate) fn partition(
        fixture: &NodeFixture,
        disk_image: &'a Fixture,
        disk_length: u64,
    ) -> Self {
        fixture.partition();
        let extents = fixture.os().volumes.extents(fixture.volume()).unwrap();
        Self {
            disk_image,
            offset: extents[0].offset,
            length: extents[0].length,
            disk_length,
        }
    }

    /// Puts the fixture there.
    pub(crate) fn fill(&self, fixture: &NodeFixture) -> Seen {
        let blank = self.seen(fixture);
        for (at, bytes) in self.disk_image.image.resized(self.length).runs() {
            let at = self.offset + at;
            fixture.overwrite(DATA, at, bytes);
        }
        let filled = self.seen(fixture);
        let shows = blank.content != filled.content && blank.ends != filled.ends;
        assert!(shows, "{}: is not looked at", self.disk_image.name);
        filled
    }

    pub(crate) fn assert_unchanged(&self, fixture: &NodeFixture, before: &Seen) {
        let is_unchanged = self.seen(fixture) == *before;
        assert!(is_unchanged, "{}: bytes changed", self.disk_image.name);
    }

    pub(crate) fn seen(&self, fixture: &NodeFixture) -> Seen {
        let image = self.disk_image.image.resized(self.length);
        let runs = image.runs();
        let runs = runs.map(|(at, bytes)| (self.offset + at, bytes.len()));
        let ends = [(0, self.disk_length), (self.offset, self.length)];
        let ends = ends.into_iter().flat_map(|(offset, length)| {
            let tail = u64::try_from(TAIL).unwrap();
            [(offset, HEAD), (offset + length - tail, TAIL)]
        });
        Seen {
            content: read(fixture, runs),
            ends: read(fixture, ends),
        }
    }
}

/// These stretches of the data disk, one after the other.
fn read(fixture: &NodeFixture, stretches: impl Iterator<Item = (u64, usize)>) -> Vec<u8> {
    let read = |(offset, length)| fixture.bytes(DATA, offset, length);
    // Not byte by byte, which takes a minute more in an unoptimised test.
    stretches.map(read).collect::<Vec<_>>().concat()
}
