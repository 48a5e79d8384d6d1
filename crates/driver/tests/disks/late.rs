//! Calls that meet a disk which is not there yet, or no more, while pods use the volume.

use transport::Code;

use crate::fixture::{Fixture, GIB, INTRUDER, STAGING, TARGET};

fn published() -> Fixture {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.write();
    fixture.publish(TARGET).unwrap();
    fixture
}

#[test]
fn a_repeated_stage_under_an_open_file_cuts_nothing() {
    let fixture = published();
    let _open = fixture.open_file();
    fixture.take_trace();
    fixture.stage().unwrap();
    let trace = fixture.take_trace();
    let cuts = |operation: &str| {
        [
            "Dismount",
            "FSCTL_DISMOUNT",
            "Offline",
            "RemoveAccessPath",
            "DeleteVolumeMountPoint",
        ]
        .iter()
        .any(|cut| operation.contains(cut))
    };
    assert!(!trace.iter().any(|op| cuts(op.operation)), "{trace:?}");
    assert!(fixture.is_online() && fixture.has_file(TARGET));
}

#[test]
fn a_repeated_stage_does_not_take_the_mount_of_a_disk_that_moved_for_the_one_in_its_place() {
    let fixture = Fixture::of_length(GIB / 8).identified_by("v1 adapter=1 lun=1");
    fixture.stage().unwrap();
    fixture.write();
    fixture.move_to_another_place();
    fixture.publish(TARGET).unwrap();
    assert!(fixture.has_file(TARGET), "the volume is still mounted");
    let before = fixture.content_of(INTRUDER);
    let error = fixture.stage().unwrap_err();
    assert!(fixture.content_of(INTRUDER) == before, "{error}");
    assert!(fixture.has_mount_entry() && fixture.has_link_entry());
}

#[test]
fn a_repeated_stage_without_its_disk_is_unavailable_and_undoes_nothing_under_an_open_file() {
    let fixture = published();
    let _open = fixture.open_file();
    fixture.pull_out();
    let before = fixture.record();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert_eq!(fixture.record(), before);
    assert!(fixture.has_mount_entry() && fixture.has_link_entry());
    fixture.plug_in();
    fixture.stage().unwrap();
    assert!(fixture.has_file(TARGET));
}

#[test]
fn an_unstage_under_an_open_file_ends_and_leaves_the_disk_online() {
    let fixture = published();
    let open = fixture.open_file();
    fixture.unpublish(TARGET).unwrap();
    fixture.unstage().unwrap();
    assert!(fixture.is_online() && !fixture.exists(STAGING));
    drop(open);
}

/// Kubelet would call for ever, and the disk never be detached.
#[test]
fn an_unstage_ends_where_nothing_tells_which_disk_it_was() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.attach_double();
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING) && fixture.records() == 0);
}

#[test]
fn an_expansion_without_its_disk_is_unavailable() {
    let fixture = published();
    fixture.pull_out();
    for at in [STAGING, TARGET] {
        let error = fixture.expand(at, 3 * GIB).unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{error}");
    }
    fixture.plug_in();
    fixture.stage().unwrap();
    fixture.grow(3 * GIB);
    assert!(fixture.expand(TARGET, 3 * GIB).unwrap() > 2 * GIB);
}
