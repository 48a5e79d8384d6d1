//! The condition of volumes.

use transport::Code;

use crate::fixture::{Fixture, STAGING, TARGET};

#[test]
fn a_volume_whose_disk_is_gone_is_abnormal_with_its_last_figures_until_it_is_back() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let before = fixture.stats(TARGET).unwrap();
    assert_eq!(before.abnormal, None);
    fixture.pull_out();
    let away = fixture.stats(TARGET).unwrap();
    assert_eq!(away.space, before.space);
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
fn a_volume_of_which_no_figures_are_known_is_unavailable_while_it_is_away() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    let error = fixture.stats(STAGING).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
}
