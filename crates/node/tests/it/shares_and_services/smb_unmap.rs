//! Shares that are unmapped unless somebody uses them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use os::Deadline;
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{MapOutcome, Node, SmbError, UnmapOutcome};

use crate::shares_and_services::smb::remote;
use crate::shares_and_services::smb_waits::WaitsFixture;
use crate::support::SHARE;

fn unmap_unless(node: &Node, used: impl FnOnce() -> bool) -> Result<UnmapOutcome, SmbError> {
    let smb = node.operations().smb();
    smb.unmap_unless(&remote(SHARE), used, Deadline::NEVER)
}

fn is_mapped(node: &Node) -> bool {
    let mappings = node.operations().smb().mappings(Deadline::NEVER);
    !mappings.unwrap().is_empty()
}

#[test]
fn a_share_that_is_used_stays_mapped() {
    let queue = WaitsFixture::with_mapped_share();
    assert_eq!(unmap_unless(&queue.node, || true), Ok(UnmapOutcome::InUse));
    assert!(is_mapped(&queue.node));
    assert_eq!(queue.mapper()(SHARE), Ok(MapOutcome::Reused));
    assert_eq!(
        unmap_unless(&queue.node, || false),
        Ok(UnmapOutcome::Unmapped)
    );
    assert!(!is_mapped(&queue.node));
}

#[test]
fn nobody_is_asked_who_uses_a_share_that_is_not_mapped() {
    let queue = WaitsFixture::with_mapped_share();
    let smb = NodeApi::smb(&queue.node);
    smb.unmap(&remote(SHARE), queue.fixture.soon()).unwrap();
    let used = Box::new(|| panic!("asked"));
    let again = smb.unmap_unless(&remote(SHARE), used, queue.fixture.soon());
    assert!(again.unwrap_err().is(Condition::NotMapped));
}

/// A call that maps the share while its users are counted finds the outcome.
#[test]
fn a_call_that_maps_meanwhile_waits_for_the_count_and_the_removal() {
    for (used, outcome) in [(true, MapOutcome::Reused), (false, MapOutcome::Made)] {
        let queue = WaitsFixture::with_mapped_share();
        let map = queue.mapper();
        thread::scope(|scope| {
            let mut mapping = None;
            let unmapped = unmap_unless(&queue.node, || {
                mapping = Some(scope.spawn(move || map(SHARE)));
                queue.wait_until_so_many_wait(1);
                used
            });
            unmapped.unwrap();
            assert_eq!(mapping.unwrap().join().unwrap(), Ok(outcome));
        });
        assert!(is_mapped(&queue.node));
    }
}

/// A driver that counts its volumes on the share: one is recorded before it is mapped, and until it is dropped the
/// share is mapped.
#[test]
fn no_volume_loses_the_share_to_another_that_leaves() {
    let queue = WaitsFixture::with_mapped_share();
    let (volumes, node, map) = (AtomicUsize::new(0), &queue.node, queue.mapper());
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..10 {
                    volumes.fetch_add(1, Ordering::SeqCst);
                    map(SHARE).unwrap();
                    assert!(is_mapped(node));
                    volumes.fetch_sub(1, Ordering::SeqCst);
                    let used = || volumes.load(Ordering::SeqCst) > 0;
                    match unmap_unless(node, used) {
                        Ok(_) | Err(SmbError::NotMapped { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(!is_mapped(&queue.node));
}
