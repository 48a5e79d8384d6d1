//! Disks whose device refuses writes.

use transport::Code;
use wincsi::Win32;
use wincsi::sim::ProtectionAnswer;
use wincsi_driver::record::Access;

use crate::fixture::{Fixture, STAGING, TARGET};

const ASKED: &str = "IOCTL_DISK_IS_WRITABLE";
const ELSEWHERE: &str = r"C:\letter";

/// A write-protected disk with a file, which was staged before.
fn written() -> Fixture {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.write();
    fixture.unstage().unwrap();
    fixture.write_protect();
    fixture
}

/// The same, online and without the read-only attribute.
fn online_for(access: Access) -> Fixture {
    let fixture = written().for_readers(access);
    fixture.bring_online();
    assert!(fixture.is_online() && !fixture.is_read_only());
    fixture
}

#[test]
fn a_shared_disk_that_came_online_on_a_protected_device_is_served() {
    let fixture = online_for(Access::SharedReadOnly);
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    assert!(fixture.is_online() && fixture.is_read_only());
    assert!(fixture.has_file(TARGET));
    fixture.delete_pod();
    fixture.assert_put_away("a reader");
}

#[test]
fn a_protected_disk_in_use_is_served_as_it_is() {
    for access in [Access::ReadOnly, Access::SharedReadOnly] {
        let fixture = online_for(access);
        fixture.mount_at(ELSEWHERE);
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
        assert!(!fixture.is_read_only());
        assert!(fixture.has_file(TARGET) && fixture.has_file(ELSEWHERE));
    }
}

#[test]
fn a_repeated_stage_leaves_readers_of_a_protected_device_alone() {
    let fixture = online_for(Access::SharedReadOnly);
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.stage().unwrap();
    fixture.bring_online();
    assert!(!fixture.is_read_only());
    fixture.stage().unwrap();
    assert!(fixture.has_file(TARGET));
}

#[test]
fn a_device_that_does_not_say_is_not_taken_for_protected() {
    let fixture = online_for(Access::SharedReadOnly);
    fixture.fail(ASKED, Win32::IO_DEVICE);
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    let fixture = Fixture::new();
    fixture.fail(ASKED, Win32::IO_DEVICE);
    fixture.stage().unwrap();
}

/// It is asked while Windows's attribute of the disk is clear.
#[test]
fn a_device_that_answers_by_windows_attribute_is_none_that_is_protected() {
    let fixture = Fixture::answering(ProtectionAnswer::DeviceOrAttribute);
    fixture.stage().unwrap();
    fixture.unstage().unwrap();
    let fixture = fixture.for_readers(Access::SharedReadOnly);
    fixture.stage().unwrap();
    fixture.unstage().unwrap();
    assert!(fixture.is_read_only());
    let fixture = fixture.for_readers(Access::ReadWrite);
    fixture.stage().unwrap();
    fixture.unstage().unwrap();
    let fixture = fixture.for_readers(Access::SharedReadOnly);
    fixture.bring_online();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
}

#[test]
fn a_writer_is_refused_by_name_and_the_protected_device_left_as_it_is() {
    let blank = Fixture::new();
    blank.write_protect();
    for fixture in [blank, written()] {
        let before = fixture.beginning();
        let error = fixture.stage().unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
        assert!(error.to_string().contains("write-protected"), "{error}");
        assert!(!fixture.is_online() && !fixture.exists(STAGING));
        assert_eq!(fixture.records(), 0);
        assert!(fixture.beginning() == before);
    }
}

#[test]
fn a_writer_whose_device_became_protected_stays_staged() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.write();
    fixture.publish(TARGET).unwrap();
    fixture.write_protect();
    fixture.stage().unwrap();
    assert!(fixture.has_file(TARGET));
}
