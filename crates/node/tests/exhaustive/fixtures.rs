//! Every format that the scan knows, on a simulated disk, through the whole path of staging.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use formats::blank::Signature;
use formats::fixtures::{Fixture, all};
use os::PartitionStyle;
use os_sim::{Bus, DiskSpec};
use wincsi_node::{DiskError, VolumeError};

use crate::support::fixture::{LENGTH, Place, assert_names};
use crate::support::{DATA, Rig, counted};

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
        let place = Place::whole(&rig, &fixture, length);
        let before = place.fill(&rig);
        let partitioned = rig.disks().partition(rig.disk(), rig.soon());
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
        let place = Place::partition(&rig, &fixture, LENGTH);
        let volume = rig.volume();
        let before = place.fill(&rig);
        let error = rig.volumes().format(volume, rig.soon()).unwrap_err();
        let VolumeError::Blank(error) = error else {
            panic!("{}: {error:?}", fixture.name);
        };
        assert_names(&error, &fixture);
        place.assert_unchanged(&rig, &before);
        let staged = rig.stage();
        place.assert_unchanged(&rig, &before);
        match rig.volumes().is_formatted(volume, rig.soon()) {
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

/// Partitions are whole MiB long, so an odd length is one of whole disks alone.
fn is_ragged(fixture: &Fixture) -> bool {
    !fixture.image.length().is_multiple_of(1 << 20)
}
