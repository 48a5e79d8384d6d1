//! A stage that is repeated with something else in its request.

use transport::Code;
use wincsi::Win32;

use crate::fixture::{Fixture, GIB, INTRUDER, TARGET};

const PLACE: &str = "v1 adapter=1 lun=1";
const OTHER_PLACE: &str = "v1 adapter=1 lun=2";

/// Has the fixture ask for something else.
type Change = fn(Fixture) -> Fixture;

/// Requests of the same volume for something else than the fixture's.
fn others() -> [(&'static str, Change); 2] {
    [
        ("capability", Fixture::for_one_target),
        ("disk", |fixture| fixture.identified_by(OTHER_PLACE)),
    ]
}

#[test]
fn a_staged_volume_is_refused_for_something_else_and_stays_as_it_is() {
    for (what, change) in others() {
        let fixture = Fixture::of_length(GIB / 8).identified_by(PLACE);
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
        let record = fixture.record();
        let elsewhere = fixture.stage_at(r"C:\elsewhere").unwrap_err();
        assert_eq!(elsewhere.code(), Code::Unavailable, "{elsewhere}");
        let fixture = change(fixture);
        let error = fixture.stage().unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{what}: {error}");
        assert_eq!(fixture.record(), record, "{what}");
        fixture.stats(TARGET).unwrap();
    }
}

/// Kubelet forgets a volume after a final code, and here a record is left, and perhaps a disk online.
#[test]
fn a_refusal_after_a_stage_that_did_not_end_is_not_final() {
    for (what, change) in others() {
        let fixture = Fixture::of_length(GIB / 8).identified_by(PLACE);
        fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
        fixture.stage().unwrap_err();
        fixture.heal();
        let fixture = change(fixture);
        let error = fixture.stage().unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{what}: {error}");
        fixture.unstage().unwrap();
        assert_eq!(fixture.records(), 0, "{what}");
    }
}

/// It was detached and attached again while the node was down.
#[test]
fn a_volume_whose_disk_came_to_another_place_is_staged_there() {
    for is_mounted in [true, false] {
        let mut fixture = Fixture::of_length(GIB / 8).identified_by(PLACE);
        fixture.stage().unwrap();
        fixture.write();
        fixture.publish(TARGET).unwrap();
        fixture.move_to_another_place();
        fixture.reboot();
        if !is_mounted {
            fixture.unmount_behind_the_drivers_back();
        }
        let before = fixture.content_of(INTRUDER);
        let fixture = fixture.identified_by(OTHER_PLACE);
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
        assert!(fixture.has_file(TARGET), "{is_mounted}");
        let fixture = fixture.identified_by(PLACE);
        let error = fixture.stage().unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{error}");
        assert!(fixture.content_of(INTRUDER) == before, "{is_mounted}");
    }
}
