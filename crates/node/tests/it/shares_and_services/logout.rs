//! Logging out of one session of a target.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::thread;

use os::Win32;
use os::schema::iscsi_session;
use os_sim::Arrives;
use wincsi_node::api::Condition;
use wincsi_node::{Authentication, IscsiError};

use super::iscsi::{calls, nulling};
use super::smb_waits::WaitsFixture;
use crate::support::NodeFixture;
use crate::support::initiator::{GUARDED, OPEN, chap, named};

const DISCONNECT: &str = "MSFT_iSCSITarget.Disconnect";

fn connected() -> NodeFixture {
    let fixture = NodeFixture::with_mpio();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    fixture
}

/// With a second session, which is persistent and brings the same disk.
fn twice_connected() -> NodeFixture {
    let fixture = connected();
    fixture.log_in_again(OPEN);
    fixture.rescan();
    fixture
}

fn ids(fixture: &NodeFixture) -> Vec<String> {
    let sessions = fixture.iscsi().sessions(fixture.soon()).unwrap();
    sessions.into_iter().map(|session| session.id).collect()
}

fn log_out(fixture: &NodeFixture, session: &str) -> Result<(), IscsiError> {
    fixture
        .iscsi()
        .log_out(&named(OPEN), session, fixture.soon())
}

fn take_offline(fixture: &NodeFixture) {
    let disk = fixture.disk_of("open");
    fixture.disks().set_offline(disk, fixture.soon()).unwrap();
}

#[test]
fn one_session_ends_but_the_last_not_under_its_disk() {
    let fixture = twice_connected();
    let [first, second] = &ids(&fixture)[..] else {
        unreachable!("two sessions");
    };
    for _ in 0..2 {
        assert_eq!(log_out(&fixture, &first.to_uppercase()), Ok(()));
        assert_eq!(ids(&fixture), [second.as_str()]);
    }
    let error = log_out(&fixture, second).unwrap_err();
    let disk = fixture.disk_of("open");
    assert_eq!(error.condition(), Some(Condition::InUse));
    let text = format!("target {OPEN} keeps session {second}: disk {disk} of it is online");
    assert_eq!(error.to_string(), text);
    assert_eq!(ids(&fixture).len(), 1);
    take_offline(&fixture);
    assert_eq!(log_out(&fixture, second), Ok(()));
    fixture.reboot().unwrap();
    assert!(ids(&fixture).is_empty(), "it does not come back");
}

#[test]
fn a_disk_that_the_provider_does_not_list_counts() {
    let fixture = connected();
    let id = ids(&fixture).remove(0);
    let trace = fixture.trace(|| {
        let error = log_out(&fixture, &id).unwrap_err();
        assert!(matches!(error, IscsiError::DiskOnline { .. }), "{error}");
    });
    assert_eq!(calls(&trace, DISCONNECT), 0);
}

#[test]
fn a_session_that_may_be_lost_keeps_no_disk() {
    let fixture = twice_connected();
    let unsaid = nulling(
        &fixture,
        &iscsi_session::CLASS,
        iscsi_session::IS_CONNECTED.name,
    );
    let iscsi = unsaid.operations().iscsi();
    let ended = iscsi.log_out(&named(OPEN), &ids(&fixture)[0], fixture.soon());
    assert!(
        matches!(ended, Err(IscsiError::DiskOnline { .. })),
        "{ended:?}"
    );
}

#[test]
fn only_a_session_of_the_target_ends_a_lost_one_too() {
    let fixture = connected();
    let one_way = Authentication::OneWayChap(chap());
    fixture.connect(GUARDED, &one_way).unwrap();
    let sessions = ids(&fixture);
    let error = log_out(&fixture, &sessions[1]).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::Other));
    let says = format!("is not one of target {OPEN}, but of {GUARDED}");
    assert!(error.to_string().ends_with(&says), "{error}");
    let none = named("iqn.2026-01.com.example:none");
    for target in [&named(OPEN), &none] {
        let iscsi = fixture.iscsi();
        assert_eq!(iscsi.log_out(target, "ffff-0", fixture.soon()), Ok(()));
    }
    assert_eq!(ids(&fixture), sessions);
    fixture.array().set_down("array", true).unwrap();
    assert_eq!(log_out(&fixture, &sessions[0]), Ok(()));
    assert_eq!(ids(&fixture), sessions[1..]);
}

#[test]
fn what_nobody_can_tell_of_a_disk_keeps_its_session() {
    for operation in ["IOCTL_DISK_GET_DISK_ATTRIBUTES", "*UpdateHostStorageCache"] {
        let fixture = connected();
        fixture.rescan();
        take_offline(&fixture);
        let id = ids(&fixture).remove(0);
        let fault = fixture.fail(operation, Win32::IO_DEVICE);
        let error = log_out(&fixture, &id).unwrap_err();
        assert_eq!(
            error.condition(),
            Some(Condition::DeviceFailed),
            "{operation}"
        );
        fixture.faults().remove(fault);
        assert_eq!(log_out(&fixture, &id), Ok(()));
    }
}

/// The storage provider does not list the disk when it begins.
/// Guards: P37
#[test]
fn the_disk_and_the_target_are_locked_until_it_ends() {
    let fixture = NodeFixture::with_portal();
    fixture
        .array()
        .change_server("array", |server| {
            server.target[0].lun[0].disk.arrives = Arrives::Offline;
        })
        .unwrap();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    let id = ids(&fixture).remove(0);
    let (disk, soon) = (fixture.disk_of("open"), fixture.soon());
    let queue = WaitsFixture::of(fixture);
    let log_out = |session: &str| {
        let iscsi = queue.node.operations().iscsi();
        iscsi.log_out(&named(OPEN), session, soon)
    };
    thread::scope(|scope| {
        let hanging = queue.hang(DISCONNECT);
        let ending = scope.spawn(|| log_out(&id));
        queue.wait_until_one_hangs();
        let online = scope.spawn(|| queue.node.operations().disks().set_online(disk, soon));
        let again = scope.spawn(|| log_out(&id));
        queue.wait_until_so_many_wait(2);
        drop(hanging);
        assert_eq!(ending.join().unwrap(), Ok(()));
        assert_eq!(again.join().unwrap(), Ok(()));
        assert!(online.join().unwrap().is_err(), "the disk is gone");
    });
}
