//! Every format that the scan knows, on a simulated disk, through the whole path of staging.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use formats::blank::Signature;
use formats::fixtures::{Fixture, all};
use os::PartitionStyle;
use os_sim::{Bus, DiskSpec};
use wincsi_node::{DiskError, VolumeError};

use crate::support::disk_images::{ImageSlot, LENGTH, assert_names};
use crate::support::{DATA, NodeFixture, counted};

/// A Linux filesystem on a whole disk looks raw to Windows (kubernetes#102737, csi-proxy#104).
#[test]
fn no_known_format_on_a_whole_disk_is_overwritten() {
    let mut refused = 0;
    for disk_image in all() {
        let fixture = NodeFixture::new();
        // A format whose place depends on an odd length keeps its own.
        let length = if is_ragged(&disk_image) {
            disk_image.image.length()
        } else {
            LENGTH
        };
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, length);
        let place = ImageSlot::whole(&fixture, &disk_image, length);
        let before = place.fill(&fixture);
        let partitioned = fixture.try_partition();
        place.assert_unchanged(&fixture, &before);
        let staged = fixture.stage();
        let layout = fixture.layout();
        if !layout.partitions.is_empty() {
            // A table stays as it is; a blank partition that it has may be formatted.
            let is_kept = place.seen(&fixture).content == before.content;
            assert!(is_kept, "{}: bytes changed", disk_image.name);
            continue;
        }
        place.assert_unchanged(&fixture, &before);
        let Err(DiskError::Blank(error)) = partitioned else {
            panic!("{} in {:?}: {partitioned:?}", disk_image.name, layout.style);
        };
        let refusal = staged.expect_err(disk_image.name);
        assert!(
            refusal.starts_with("disk 1 is not overwritten"),
            "{refusal}"
        );
        if layout.style == PartitionStyle::Raw {
            assert_names(&error, &disk_image);
        }
        refused += 1;
    }
    counted(refused, "fixtures", "refused on a whole disk");
    assert!(refused > Signature::ALL.len() / 2);
}

/// Guards: P63
#[test]
fn no_known_format_in_a_partition_is_overwritten() {
    let (mut refused, mut mounted) = (0, 0);
    for disk_image in all()
        .into_iter()
        .filter(|disk_image| !is_ragged(disk_image))
    {
        let fixture = NodeFixture::new();
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
        let place = ImageSlot::partition(&fixture, &disk_image, LENGTH);
        let volume = fixture.volume();
        let before = place.fill(&fixture);
        let error = fixture
            .volumes()
            .format(volume, fixture.soon())
            .unwrap_err();
        let VolumeError::Blank(error) = error else {
            panic!("{}: {error:?}", disk_image.name);
        };
        assert_names(&error, &disk_image);
        place.assert_unchanged(&fixture, &before);
        let staged = fixture.stage();
        place.assert_unchanged(&fixture, &before);
        match fixture.volumes().is_formatted(volume, fixture.soon()) {
            Ok(true) => {
                assert_eq!(staged, Ok(volume), "{}: goes as it is", disk_image.name);
                mounted += 1;
            }
            _ => assert_eq!(staged, Err(error.to_string()), "{}", disk_image.name),
        }
        refused += 1;
    }
    assert!(mounted > 0, "what Windows knows is mounted as it is");
    counted(refused, "fixtures", "refused in a partition");
    assert!(refused >= Signature::ALL.len());
}

/// Partitions are whole MiB long, so an odd length is one of whole disks alone.
fn is_ragged(disk_image: &Fixture) -> bool {
    !disk_image.image.length().is_multiple_of(1 << 20)
}
