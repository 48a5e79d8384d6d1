//! Volumes of readers alone.

use std::sync::Barrier;
use std::thread;

use transport::Code;
use wincsi::Win32;
use wincsi_driver::kinds::block::Choice;
use wincsi_driver::record::Access;

use crate::fixture::{Fixture, STAGING, TARGET};

const OTHER: &str = r"C:\other";
const TIMES: usize = 10;

/// A disk with a file, which this driver staged before for writers.
fn written(access: Access) -> Fixture {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.write();
    fixture.unstage().unwrap();
    fixture.for_readers(access)
}

#[test]
fn the_disk_of_readers_is_online_read_only_and_shows_its_files() {
    for access in [Access::ReadOnly, Access::SharedReadOnly] {
        let fixture = written(access);
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
        assert!(fixture.is_online() && fixture.is_read_only());
        assert!(fixture.has_file(TARGET));
        fixture.unpublish(TARGET).unwrap();
        fixture.unstage().unwrap();
        assert!(!fixture.is_online());
    }
}

#[test]
fn a_shared_disk_that_came_online_writable_is_refused_and_left_as_it_is() {
    let fixture = written(Access::SharedReadOnly);
    fixture.bring_online();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(fixture.is_online() && !fixture.is_read_only());
    assert!(!fixture.exists(STAGING));
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_shared_disk_that_became_writable_is_refused_by_a_repeated_stage() {
    let fixture = written(Access::SharedReadOnly);
    fixture.stage().unwrap();
    fixture.bring_online();
    assert!(!fixture.is_read_only());
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
}

#[test]
fn the_disk_of_readers_stays_read_only_over_a_reboot() {
    for access in [Access::ReadOnly, Access::SharedReadOnly] {
        let mut fixture = written(access);
        fixture.stage().unwrap();
        fixture.reboot();
        assert!(fixture.is_online() && fixture.is_read_only());
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
        assert!(fixture.has_file(TARGET) && fixture.is_read_only());
    }
}

/// It is mounted at the staging path, for no pod of this boot.
#[test]
fn a_disk_of_one_node_that_a_reboot_made_writable_is_made_read_only_before_a_pod_has_it() {
    for calls_stage in [true, false] {
        let mut fixture = written(Access::ReadOnly);
        fixture.stage().unwrap();
        fixture.reboot();
        fixture.bring_online();
        assert!(!fixture.is_read_only());
        if calls_stage {
            fixture.stage().unwrap();
            assert!(fixture.is_read_only());
        }
        fixture.publish(TARGET).unwrap();
        assert!(fixture.has_file(TARGET) && fixture.is_read_only());
    }
}

#[test]
fn a_disk_of_readers_that_a_reboot_made_writable_stays_mounted_while_it_has_a_drive_letter() {
    let mut fixture = written(Access::ReadOnly);
    fixture.stage().unwrap();
    fixture.reboot();
    fixture.bring_online();
    fixture.mount_elsewhere(r"C:\letter");
    let error = fixture.publish(TARGET).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(fixture.has_mount_entry() && !fixture.exists(TARGET));
}

#[test]
fn a_shared_disk_that_a_reboot_made_writable_is_published_to_no_pod() {
    let mut fixture = written(Access::SharedReadOnly);
    fixture.stage().unwrap();
    fixture.reboot();
    fixture.bring_online();
    let error = fixture.publish(TARGET).unwrap_err();
    assert!(error.to_string().contains("writable"), "{error}");
    assert!(!fixture.exists(TARGET));
    fixture.unstage().unwrap();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    assert!(fixture.has_file(TARGET) && fixture.is_read_only());
}

/// Both may look before either has a record.
#[test]
fn of_a_writer_and_a_reader_that_are_staged_side_by_side_one_at_most_has_the_disk() {
    for _ in 0..TIMES {
        let fixture = written(Access::ReadWrite);
        let both = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                fixture.stage_other(OTHER)
            });
            both.wait();
            let _ = fixture.stage_for(Access::ReadOnly);
        });
        assert!(fixture.records() <= 1);
    }
}

/// The reader comes while the writer looks at the disk, before either has a record.
#[test]
fn a_stage_looks_for_others_also_after_its_record() {
    let fixture = written(Access::ReadWrite);
    fixture.attach_another();
    fixture.stage_another(Access::ReadWrite).unwrap();
    fixture.unstage_another().unwrap();
    // Only who finds a record of the other kind looks at the disk.
    fixture.stage_another(Access::ReadOnly).unwrap();
    fixture.bring_online();
    fixture.hang_once("FindFirstVolumeW", "*");
    let (reader, writer) = thread::scope(|scope| {
        let writer = scope.spawn(|| fixture.stage());
        fixture.wait_for_hang(1);
        let reader = fixture.stage_other_for(OTHER, Access::ReadOnly);
        fixture.heal();
        (reader, writer.join().unwrap())
    });
    reader.unwrap();
    let refused = writer.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(fixture.is_read_only() && fixture.exists(OTHER));
    assert_eq!(fixture.records(), 2, "those of readers");
}

/// While the first is not mounted yet, its record has no volume of the disk.
#[test]
fn one_disk_under_two_keys_is_one_conflict() {
    for (first, second) in [
        (Access::ReadWrite, Access::ReadOnly),
        (Access::ReadOnly, Access::ReadWrite),
    ] {
        let fixture = &written(Access::ReadWrite);
        fixture.hang_once("SetVolumeMountPointW", "*");
        let (staged, refused) = thread::scope(|scope| {
            let running = scope.spawn(|| fixture.stage_for(first));
            fixture.wait_for_hang(1);
            let by_place = "v1 adapter=1 lun=1";
            let stage = || fixture.stage_by_key_for(("vol-2", OTHER), by_place, second);
            let other = scope.spawn(stage);
            fixture.becomes(|_| other.is_finished());
            fixture.heal();
            (running.join().unwrap(), other.join().unwrap())
        });
        let refused = refused.unwrap_err();
        staged.unwrap();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        assert!(refused.to_string().contains("vol-1"), "{refused}");
        assert_eq!(fixture.records(), 1);
        assert_eq!(fixture.is_read_only(), first == Access::ReadOnly);
    }
}

/// What that stage found is forgotten, and nothing is mounted.
#[test]
fn a_failed_stage_has_its_disk_after_a_restart() {
    let mut fixture = written(Access::ReadWrite);
    fixture.fail("SetVolumeMountPointW", Win32::NOT_READY);
    fixture.fail("MSFT_Disk.Offline", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
    fixture.restart_driver();
    let error = fixture
        .stage_other_for(OTHER, Access::ReadOnly)
        .unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert_eq!(fixture.records(), 1);
}

#[test]
fn the_disk_of_readers_is_no_writers_by_whatever_name() {
    let fixture = written(Access::SharedReadOnly);
    fixture.stage().unwrap();
    let fixture = fixture
        .for_readers(Access::ReadWrite)
        .identified_by("v1 adapter=1 lun=1");
    let error = fixture.stage_other(r"C:\other").unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(fixture.is_read_only());
}

#[test]
fn a_disk_of_one_node_that_came_online_writable_is_made_read_only() {
    let fixture = written(Access::ReadOnly);
    fixture.bring_online();
    fixture.stage().unwrap();
    assert!(fixture.is_online() && fixture.is_read_only());
}

#[test]
fn readers_volumes_do_not_grow_and_get_no_label() {
    let label = String::from("data");
    let labelled = Choice {
        label,
        ..Choice::default()
    };
    let fixture = written(Access::ReadOnly).formatted_with(labelled);
    fixture.grow(3 << 30);
    fixture.stage().unwrap();
    let total = fixture.stats(STAGING).unwrap().total;
    assert!(total < 2 << 30, "{total}");
    assert_eq!(fixture.expand(STAGING, 3 << 30).unwrap(), total);
}

#[test]
fn readers_get_their_disk_read_only_and_a_blank_one_is_not_formatted_for_them() {
    let fixture = Fixture::new().for_readers(Access::ReadOnly);
    let blank = fixture.stage().unwrap_err();
    assert_eq!(blank.code(), Code::NotFound, "{blank}");
    let advice = "not one volume but none: a pod with ReadWriteOnce has to write first";
    assert!(blank.to_string().contains(advice), "{blank}");
    assert!(!fixture.is_online());
    assert_eq!(fixture.records(), 0);
}
