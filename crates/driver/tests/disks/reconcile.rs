//! What a start finds.

use std::thread;

use wincsi::Win32;

use crate::fixture::{Fixture, STAGING, TARGET, VOLUME};

#[test]
fn a_start_counts_volumes_that_are_mounted_as_they_were() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.restart_driver();
    let outcome = fixture.reconcile();
    assert_eq!((outcome.volumes, outcome.away.len()), (1, 0), "{outcome:?}");
    fixture.reboot();
    let outcome = fixture.reconcile();
    assert_eq!((outcome.volumes, outcome.away.len()), (1, 0), "{outcome:?}");
}

#[test]
fn what_kubelet_does_not_call_this_drivers_is_left_alone() {
    let mut fixture = Fixture::new();
    fixture.write_vol_data("other.driver", VOLUME);
    fixture.stage().unwrap();
    fixture.pull_out();
    fixture.forget();
    assert!(fixture.reconcile().removed.is_empty());
    assert!(fixture.exists(STAGING));
}

#[test]
fn a_call_that_did_not_end_is_reported_and_left_to_kubelet() {
    let mut fixture = Fixture::new();
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
    fixture.restart_driver();
    let outcome = fixture.reconcile();
    assert_eq!(outcome.interrupted.len(), 1, "{outcome:?}");
    fixture.stage().unwrap();
}

#[test]
fn kubelets_calls_run_beside_a_look_that_hangs_and_their_outcome_counts() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.hang_once("GetFileAttributesExW", STAGING);
    let outcome = thread::scope(|scope| {
        let start = scope.spawn(|| fixture.reconcile());
        fixture.wait_for_hang(1);
        let published = fixture.publish(TARGET);
        let unpublished = fixture.unpublish(TARGET);
        let unstaged = fixture.unstage();
        fixture.heal();
        published.unwrap();
        unpublished.unwrap();
        unstaged.unwrap();
        start.join().unwrap()
    });
    assert!(outcome.away.is_empty(), "{outcome:?}");
    assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
    fixture.assert_put_away("after the comparison");
}

/// Kubelet forgot the volume with its folder, and no call for it comes any more.
#[test]
fn the_record_of_a_stage_that_kubelet_forgot_goes_at_the_next_start() {
    let mut fixture = Fixture::new();
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
    fixture.remove_directory(&fixture.folder_of_staging());
    fixture.restart_driver();
    let outcome = fixture.reconcile();
    assert_eq!(fixture.records(), 0, "{outcome:?}");
}

/// It may be another driver's by now.
#[test]
fn the_disk_of_an_abandoned_record_stays_online() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.unmount_behind_the_drivers_back();
    fixture.remove_directory(STAGING);
    fixture.remove_directory(&fixture.folder_of_staging());
    let _ = fixture.stats(STAGING);
    assert!(fixture.metrics().contains("wincsi_volume_abnormal{"));
    let outcome = fixture.reconcile();
    assert_eq!(fixture.records(), 0, "{outcome:?}");
    assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
    assert!(fixture.is_online());
}
