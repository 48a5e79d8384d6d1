//! Codes of Windows and of its providers, which are the same condition in this process and over the pipes.

use std::time::Instant;

use node::api::Condition;
use node::{Authentication, Criterion, Portal};
use os_sim::demo;
use prost::Message as _;
use transport::{CallError, Channel, ChannelOptions, Endpoint};
use wire::Rpc as _;
use wire::disk::v1::GetDiskStateRequest;
use wire::disk::v1::rpc::GetDiskState;

use super::{ClientFixture, TIMEOUT, both, connect, fails, map, path};

/// Codes of Windows and of its providers, at the call beneath that fails with them.
const FAILURES: [(&str, Condition); 14] = [
    ("fail = { win32 = 19 }", Condition::ReadOnly),
    ("fail = { win32 = 21 }", Condition::NotReady),
    ("fail = { win32 = 32 }", Condition::InUse),
    ("fail = { win32 = 87 }", Condition::Other),
    ("fail = { win32 = 112 }", Condition::NoRoom),
    ("fail = { win32 = 170 }", Condition::InUse),
    ("fail = { win32 = 1117 }", Condition::DeviceFailed),
    ("fail = { hresult = 0x800706BA }", Condition::NotReady),
    ("answer = { code = 5 }", Condition::Other),
    ("answer = { code = 40001 }", Condition::AccessDenied),
    ("answer = { code = 40003 }", Condition::OutOfDate),
    ("answer = { code = 41002 }", Condition::ReadOnly),
    ("answer = { code = 41003 }", Condition::Offline),
    ("answer = { code = 41018 }", Condition::Guarded),
];

#[test]
fn what_a_storage_method_fails_with_is_the_same_condition() {
    both(|fixture| {
        let found = fixture.found();
        for (failure, condition) in FAILURES {
            fixture.break_call("MSFT_Disk.Initialize", failure);
            let error = fixture
                .node
                .disks()
                .partition(&found, fixture.soon())
                .unwrap_err();
            assert_eq!(error.condition(), Some(condition), "{error}");
        }
    });
}

#[test]
fn what_the_initiator_fails_with_is_the_same_condition() {
    both(|fixture| {
        let Criterion::IscsiTarget { portal, target } = connect(fixture) else {
            unreachable!("that is how it is named");
        };
        let (iscsi, soon) = (fixture.node.iscsi(), fixture.soon());
        iscsi.disconnect(&portal, &target, soon).unwrap();
        for (code, condition) in [
            ("0xEFFF0001", Condition::Other),
            ("0xEFFF0003", Condition::ServerNotFound),
            ("0xEFFF0009", Condition::LogonFailure),
            ("0xEFFF000A", Condition::AccessDenied),
            ("0xEFFF0029", Condition::NotFound),
            ("0xEFFF003E", Condition::ServiceStopped),
            ("0xEFFF003F", Condition::AlreadyConnected),
        ] {
            for failure in [
                format!("fail = {{ hresult = {code} }}"),
                format!("answer = {{ code = {code} }}"),
            ] {
                fixture.break_call("MSFT_iSCSITarget.Connect", &failure);
                let none = Authentication::None;
                let error = iscsi.connect(&portal, &target, &none, soon).unwrap_err();
                assert_eq!(error.condition(), Some(condition), "{error}");
            }
        }
    });
}

/// It does not start by itself.
#[test]
fn an_initiator_that_was_not_started_says_so() {
    fails(Condition::ServiceStopped, |fixture| {
        let portal = Portal::parse(demo::ISCSI_ADDRESS, 0).unwrap();
        let none = Authentication::None;
        let iscsi = fixture.node.iscsi();
        iscsi.add_portal(&portal, &none, fixture.soon())
    });
}

/// The words of 53 end like those of a disk that is not found.
#[test]
fn a_server_that_is_away_is_not_a_share_that_does_not_exist() {
    both(|fixture| {
        for failure in ["fail = { win32 = 53 }", "answer = { code = 53 }"] {
            fixture.break_call("MSFT_SmbGlobalMapping.Create", failure);
            let error = map(fixture, demo::SMB_PASSWORD, &path("share")).unwrap_err();
            let condition = Condition::ServerNotFound;
            assert_eq!(error.condition(), Some(condition), "{error}");
        }
    });
}

/// Otherwise both runs of these tests were of texts.
#[test]
fn our_server_reports_the_condition_beside_the_text() {
    let fixture = ClientFixture::over_pipes();
    let sockets = fixture.folder_of_sockets();
    let group = &wire::disk::v1::GROUP;
    let endpoint = Endpoint::local(&sockets, &group.pipe_name()).unwrap();
    let mut options = ChannelOptions::default();
    options.trailer = Some(wire::CONDITION);
    let channel = Channel::connect(endpoint, options).unwrap();
    let missing = GetDiskStateRequest { disk_number: 99 }.encode_to_vec();
    let answer = channel.call(GetDiskState::PATH, &missing, Instant::now() + TIMEOUT);
    let Err(CallError::Status(status)) = answer else {
        panic!("there is no disk 99");
    };
    let reported = (wire::CONDITION, Condition::NotFound.name().into());
    assert_eq!(status.trailer, Some(reported), "{status}");
}
