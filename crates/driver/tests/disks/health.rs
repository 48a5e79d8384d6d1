//! The condition of volumes.

use std::thread;

use wincsi::Feature;
use wincsi_driver::record::Access;

use crate::fixture::{Fixture, GIB, STAGING, TARGET};

#[test]
fn a_volume_whose_disk_is_gone_is_abnormal_with_its_last_figures_until_it_is_back() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let before = fixture.stats(TARGET).unwrap();
    assert_eq!(before.abnormal, None);
    fixture.pull_out();
    let away = fixture.stats(TARGET).unwrap();
    assert_eq!((away.total, away.space), (before.total, before.space));
    assert!(away.abnormal.is_some());
    let line = r#"wincsi_volume_abnormal{volume="vol-1"} 1"#;
    assert!(fixture.metrics().contains(line), "{}", fixture.metrics());
    fixture.plug_in();
    fixture.stage().unwrap();
    assert_eq!(fixture.stats(TARGET).unwrap().abnormal, None);
    assert!(!fixture.metrics().contains(line));
}

#[test]
fn a_volume_that_becomes_abnormal_is_one_event_until_it_is_normal_again() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.stats(STAGING).unwrap();
    assert_eq!(fixture.events(), [""; 0]);
    for times in 1..=2 {
        fixture.pull_out();
        for _ in 0..2 {
            assert!(fixture.stats(STAGING).unwrap().abnormal.is_some());
        }
        let events = fixture.events();
        assert_eq!(events.len(), times, "{events:?}");
        let event = events.last().unwrap();
        assert!(
            event.contains("vol-1") && event.contains("abnormal"),
            "{event}"
        );
        fixture.plug_in();
        fixture.stage().unwrap();
    }
}

#[test]
fn a_volume_that_is_away_since_another_process_is_abnormal_and_has_its_size() {
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let mut fixture = Fixture::new();
        if access == Access::ReadOnly && !fixture.host_supports(Feature::ReadOnlyDisks) {
            continue;
        }
        fixture.stage().unwrap();
        fixture.unstage().unwrap();
        fixture = fixture.for_readers(access);
        fixture.stage().unwrap();
        let before = fixture.stats(STAGING).unwrap().total;
        fixture.pull_out();
        fixture.restart_driver();
        let away = fixture.stats(STAGING).unwrap();
        assert!(away.abnormal.is_some());
        // A partition is larger than its filesystem by what NTFS keeps for itself.
        let more = away.total.checked_sub(before).unwrap();
        assert!(more < 4 << 20, "{before}, {:?}", away);
        assert_eq!(away.space, None);
    }
}

#[test]
fn a_volume_that_is_unstaged_while_it_is_away_is_abnormal_no_more() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    let _ = fixture.stats(STAGING);
    assert!(fixture.metrics().contains("wincsi_volume_abnormal{"));
    fixture.unstage().unwrap();
    assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
}

#[test]
fn an_expansion_is_known_to_the_next_process() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.grow(3 * GIB);
    let grown = fixture.expand(STAGING, 3 * GIB).unwrap();
    fixture.pull_out();
    fixture.restart_driver();
    assert_eq!(fixture.stats(STAGING).unwrap().total, grown);
}

#[test]
fn a_look_that_outlasts_the_unstage_of_its_volume_leaves_no_condition_behind() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.hang_once("GetFileAttributesExW", STAGING);
    thread::scope(|scope| {
        let stats = scope.spawn(|| fixture.stats(STAGING));
        fixture.wait_for_hang(1);
        let unstaged = fixture.unstage();
        fixture.heal();
        unstaged.unwrap();
        let _ = stats.join().unwrap();
    });
    assert_eq!(fixture.events(), [""; 0]);
    assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
}
