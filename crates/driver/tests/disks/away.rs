//! Volumes whose disk is not there. A stage waits for it: a minute, of which the simulated clock makes nothing.

use transport::Code;

use crate::fixture::{Fixture, TARGET};

#[test]
fn a_disk_that_is_not_there_leaves_nothing_behind_and_is_not_found() {
    let fixture = Fixture::new();
    fixture.pull_out();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_repeated_stage_of_a_staged_volume_undoes_nothing() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.write();
    fixture.pull_out();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert_eq!(fixture.records(), 1);
    fixture.plug_in();
    fixture.stage().unwrap();
    assert!(fixture.has_file(TARGET));
}

#[test]
fn a_plain_directory_is_never_published() {
    let fixture = Fixture::new();
    let unknown = fixture.publish(TARGET).unwrap_err();
    assert_eq!(unknown.code(), Code::FailedPrecondition, "{unknown}");
    fixture.stage().unwrap();
    fixture.unmount_behind_the_drivers_back();
    fixture.pull_out();
    let gone = fixture.publish(TARGET).unwrap_err();
    assert_eq!(gone.code(), Code::Unavailable, "{gone}");
    assert!(!fixture.exists(TARGET));
}
