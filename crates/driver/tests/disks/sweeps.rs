//! What a start removes, and what it does not wait for.

use std::thread;
use std::time::Duration;

use crate::fixture::{Fixture, STAGING, TARGET, VOLUME};

const OTHER_STAGING: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\2\globalmount";

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
fn a_volume_that_hangs_keeps_no_other_from_its_look_and_its_own_look_ends() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.stage_other(OTHER_STAGING).unwrap();
    fixture.pull_out();
    fixture.reboot();
    fixture.hang_once("GetFileAttributesExW", STAGING);
    let outcome = thread::scope(|scope| {
        let start = scope.spawn(|| fixture.reconcile());
        fixture.wait_for_hang(1);
        let is_swept = fixture.becomes(|fixture| !fixture.exists(OTHER_STAGING));
        fixture.let_pass(Duration::from_secs(10));
        let ends = fixture.becomes(|_| start.is_finished());
        fixture.heal();
        assert!(is_swept && ends, "swept: {is_swept}, ended: {ends}");
        start.join().unwrap()
    });
    assert_eq!(
        (outcome.away.len(), outcome.removed.len()),
        (1, 1),
        "{outcome:?}"
    );
    let metrics = fixture.metrics();
    assert!(
        metrics.contains(r#"wincsi_volume_abnormal{volume="vol-1"} 1"#),
        "{metrics}"
    );
}

#[test]
fn a_node_that_hangs_ends_the_comparison_and_leaves_its_volumes_to_calls() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.hang_once("NtQuerySystemInformation", "*");
    let outcome = thread::scope(|scope| {
        let start = scope.spawn(|| fixture.reconcile());
        fixture.wait_for_hang(1);
        fixture.let_pass(Duration::from_secs(60));
        let ends = fixture.becomes(|_| start.is_finished());
        fixture.heal();
        assert!(ends, "it waits for the node");
        start.join().unwrap()
    });
    assert_eq!(
        (outcome.volumes, outcome.unseen.len()),
        (1, 1),
        "{outcome:?}"
    );
    assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
    fixture.publish(TARGET).unwrap();
}
