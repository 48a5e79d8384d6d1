//! Another disk in the place of the one that was staged, on a host that takes disks offline only if nobody uses them.

use wincsi_driver::record::Access;

use crate::fixture::{Fixture, GIB};

/// A staged volume, in whose disk's place another one is.
fn with_intruder(access: Access) -> Fixture {
    let mut fixture = Fixture::of_length(GIB / 8).identified_by("v1 adapter=1 lun=1");
    fixture.stage().unwrap();
    if access != Access::ReadWrite {
        fixture.unstage().unwrap();
        fixture = fixture.for_readers(access);
        fixture.stage().unwrap();
    }
    fixture.move_to_another_place();
    fixture.unmount_behind_the_drivers_back();
    fixture
}

/// Windows writes to an online disk, which another node may use.
#[test]
fn an_offline_disk_in_the_place_of_one_that_moved_is_offline_after_the_stage() {
    let fixture = with_intruder(Access::ReadWrite);
    fixture.take_offline();
    let error = fixture.stage().unwrap_err();
    assert!(!fixture.is_online(), "{error}");
}

/// It may be another driver's, and in use.
#[test]
fn an_online_disk_in_the_place_of_that_of_readers_stays_writable() {
    let fixture = with_intruder(Access::ReadOnly);
    fixture.bring_online();
    let error = fixture.stage().unwrap_err();
    assert!(fixture.is_online() && !fixture.is_read_only(), "{error}");
}

#[test]
fn an_offline_disk_in_the_place_of_that_of_readers_is_offline_after_the_stage() {
    let fixture = with_intruder(Access::ReadOnly);
    fixture.take_offline();
    let error = fixture.stage().unwrap_err();
    assert!(!fixture.is_online(), "{error}");
}

/// It may be another driver's, and in use.
#[test]
fn an_unstage_leaves_a_disk_in_the_place_online() {
    let fixture = Fixture::of_length(GIB / 8).identified_by("v1 adapter=1 lun=1");
    fixture.stage().unwrap();
    fixture.move_to_another_place();
    fixture.partition();
    fixture.unstage().unwrap();
    assert!(fixture.is_online());
    assert_eq!(fixture.records(), 0);
}
