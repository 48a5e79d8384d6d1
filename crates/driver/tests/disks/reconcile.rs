//! What a start finds.

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
fn a_volume_that_is_away_after_a_reboot_is_abnormal_and_its_dangling_folder_goes() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    fixture.restart_driver();
    let same_boot = fixture.reconcile();
    assert_eq!(same_boot.away.len(), 1, "{same_boot:?}");
    assert!(same_boot.removed.is_empty() && fixture.exists(STAGING));
    fixture.reboot();
    let other_boot = fixture.reconcile();
    assert_eq!(other_boot.removed.len(), 1, "{other_boot:?}");
    assert!(!fixture.exists(STAGING));
    assert!(fixture.metrics().contains("wincsi_volume_abnormal{"));
    fixture.plug_in();
    fixture.publish(TARGET).unwrap();
    assert_eq!(fixture.reconcile().away.len(), 0);
}

#[test]
fn a_dangling_folder_without_a_record_goes_unless_a_pods_link_leads_to_it() {
    for (has_pod, goes) in [(false, true), (true, false)] {
        let mut fixture = Fixture::new();
        fixture.write_vol_data("d", VOLUME);
        fixture.stage().unwrap();
        if has_pod {
            fixture.link(STAGING, TARGET);
        }
        fixture.pull_out();
        fixture.forget();
        let outcome = fixture.reconcile();
        assert_eq!(outcome.removed.len() == 1, goes, "{outcome:?}");
        assert_eq!(!fixture.exists(STAGING), goes);
    }
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
