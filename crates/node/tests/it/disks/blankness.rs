//! Content that is not blank is not overwritten: some disks of each kind, for systems on which the
//! many of `fixtures.rs` take too long.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use formats::fixtures::all;
use os::{Cause, Deadline, PartitionStyle};
use os_sim::{Bus, DiskSpec};
use wincsi_node::{BlankError, DiskError, FormatGuard, Options, Unread};

use crate::support::disk_images::{ImageSlot, LENGTH};
use crate::support::{DATA, NodeFixture, inject};

/// The filesystem that Linux nodes leave on disks, in both of the places where they do.
/// Guards: P61
#[test]
fn ext4_is_overwritten_neither_on_a_whole_disk_nor_in_a_partition() {
    let fixtures = all();
    let ext4 = fixtures.iter().find(|disk_image| disk_image.name == "ext4");
    for prepare in [ImageSlot::whole, ImageSlot::partition] {
        let fixture = NodeFixture::new();
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
        let place = prepare(&fixture, ext4.unwrap(), LENGTH);
        let before = place.fill(&fixture);
        let refusal = fixture.stage().unwrap_err();
        let named = format!("{} at offset ", ext4.unwrap().signature);
        assert!(refusal.contains(&named), "{refusal}");
        place.assert_unchanged(&fixture, &before);
    }
}

#[test]
fn bytes_that_nothing_explains_refuse_a_strict_node_alone() {
    for (format_guard, goes_on) in [
        (FormatGuard::Strict, false),
        (FormatGuard::Signatures, true),
    ] {
        let mut options = Options::default();
        options.format_guard = format_guard;
        let fixture = NodeFixture::with(options);
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
        fixture.overwrite(DATA, 2 << 20, b"what is this");
        let partitioned = fixture.try_partition();
        assert_eq!(
            partitioned.is_ok(),
            goes_on,
            "{format_guard:?}: {partitioned:?}"
        );
    }
}

/// A slow disk answers each of the reads in time, and all of them too late.
#[test]
fn a_disk_is_not_read_any_more_after_the_deadline() {
    let fixture = NodeFixture::new();
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, LENGTH);
    let (clock, disk) = (Arc::clone(&fixture.os().clock), fixture.disk());
    let deadline = Deadline::within(&*clock, Duration::from_secs(60));
    let node = inject::node(&fixture, |os| {
        inject::before(os, "Disks::read", 2, move || {
            clock.sleep(Duration::from_secs(61));
        });
    });
    let trace = fixture.trace(|| {
        let refused = node.operations().disks().partition(disk, deadline);
        let Err(DiskError::Blank(BlankError::Unread { source, .. })) = &refused else {
            panic!("{refused:?}");
        };
        let is_late = |error: &Unread| match error {
            Unread::Os(error) => error.cause == Cause::TimedOut,
            _ => false,
        };
        assert!(is_late(source), "{source:?}");
    });
    let reads = trace.iter().filter(|op| op.operation == "ReadFile");
    assert_eq!(reads.count(), 2);
}

#[test]
fn a_disk_that_cannot_be_read_is_not_blank() {
    let fixture = NodeFixture::new();
    let spec = DiskSpec::on(Bus::Sas)
        .serial(DATA)
        .unreadable_at(LENGTH - 4096, 512);
    fixture.plug(&spec, DATA, LENGTH);
    let refused = fixture.try_partition();
    assert!(
        matches!(refused, Err(DiskError::Blank(BlankError::Unread { .. }))),
        "{refused:?}"
    );
    let layout = fixture.layout();
    assert_eq!(layout.style, PartitionStyle::Raw);
}
