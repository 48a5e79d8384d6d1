//! Each code that Windows is known to fail with here, as a library's user gets it: the operation and its
//! object, the code, its condition, and the system's text beside it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::error::Error as _;

use formats::fixtures::field_errors;
use os::schema::{Method, ReturnCode, codes, disk, iscsi_codes, volume};
use os::{DiskNumber, Hresult, Outcome, PartitionNumber, SystemText, VolumeId, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::api::{Cause, Code, Condition, Error};
use wincsi_node::{
    Authentication, Credentials, DiskError, FoundVolume, MapRequest, ProviderError, RemotePath,
    ServiceError, VisibilityError, VolumeError,
};
use zeroize::Zeroizing;

use super::{api, found, partition};
use crate::support::initiator::{self, ADDRESS, OPEN};
use crate::support::{NodeFixture, PASSWORD, SHARE, USER};

/// Windows's errors for storage, shares and services, and the conditions on which a driver branches.
const WIN32: [(u32, Condition); 16] = [
    (3, Condition::NotFound),
    (5, Condition::AccessDenied),
    (19, Condition::ReadOnly),
    (21, Condition::NotReady),
    (32, Condition::InUse),
    (53, Condition::ServerNotFound),
    (67, Condition::ServerNotFound),
    (87, Condition::Other),
    (112, Condition::NoRoom),
    (170, Condition::InUse),
    (1117, Condition::DeviceFailed),
    (1167, Condition::DeviceFailed),
    (1219, Condition::CredentialsConflict),
    (1312, Condition::LogonFailure),
    (1326, Condition::LogonFailure),
    (2250, Condition::NotMapped),
];

/// The storage methods' return codes on which a driver branches; all others are
/// [`Condition::Other`].
const STORAGE: [(u32, Condition); 23] = [
    (3, Condition::NotReady),
    (6, Condition::InUse),
    (8, Condition::NotFound),
    (40000, Condition::NoRoom),
    (40001, Condition::AccessDenied),
    (40002, Condition::NotReady),
    (40003, Condition::OutOfDate),
    (40004, Condition::DeviceFailed),
    (40018, Condition::Guarded),
    (41000, Condition::OutOfDate),
    (41001, Condition::OutOfDate),
    (41002, Condition::ReadOnly),
    (41003, Condition::Offline),
    (41007, Condition::NotBlank),
    (41008, Condition::NotBlank),
    (41009, Condition::Guarded),
    (41014, Condition::NoRoom),
    (41015, Condition::NotReady),
    (41018, Condition::Guarded),
    (41019, Condition::Guarded),
    (42002, Condition::TargetInUse),
    (42010, Condition::Guarded),
    (43006, Condition::ReadOnly),
];

/// The same of the iSCSI initiator's codes.
const INITIATOR: [(u32, Condition); 29] = [
    (0xEFFF_0003, Condition::ServerNotFound),
    (0xEFFF_0009, Condition::LogonFailure),
    (0xEFFF_000A, Condition::AccessDenied),
    (0xEFFF_000B, Condition::NotFound),
    (0xEFFF_000C, Condition::NotFound),
    (0xEFFF_0013, Condition::NotReady),
    (0xEFFF_0014, Condition::NotReady),
    (0xEFFF_0015, Condition::AlreadyConnected),
    (0xEFFF_0016, Condition::AlreadyConnected),
    (0xEFFF_001C, Condition::NotFound),
    (0xEFFF_001D, Condition::DeviceFailed),
    (0xEFFF_001F, Condition::InUse),
    (0xEFFF_0023, Condition::ServerNotFound),
    (0xEFFF_0024, Condition::ServerNotFound),
    (0xEFFF_0028, Condition::LogonFailure),
    (0xEFFF_0029, Condition::NotFound),
    (0xEFFF_0032, Condition::AlreadyExists),
    (0xEFFF_0038, Condition::NotReady),
    (0xEFFF_0039, Condition::NotReady),
    (0xEFFF_003C, Condition::NotFound),
    (0xEFFF_003E, Condition::ServiceStopped),
    (0xEFFF_003F, Condition::AlreadyConnected),
    (0xEFFF_0040, Condition::InUse),
    (0xEFFF_0043, Condition::NotFound),
    (0xEFFF_0048, Condition::LogonFailure),
    (0xEFFF_004A, Condition::LogonFailure),
    (0xEFFF_004B, Condition::LogonFailure),
    (0xEFFF_004C, Condition::LogonFailure),
    (0xEFFF_004D, Condition::LogonFailure),
];

/// The text of a German system.
const GERMAN: &str = "Ein an das System angeschlossenes Ger\u{e4}t funktioniert nicht";

const VOLUME: &str = r"\\?\Volume{00000000-0000-0000-0000-000000000001}\";

/// One operation, and the call beneath it that fails.
struct Case {
    call: &'static str,
    fixture: fn() -> NodeFixture,
    act: fn(&NodeFixture) -> Result<(), Error>,
    /// The operation and its object.
    says: fn(&NodeFixture) -> String,
}

const INITIALISE: Case = Case {
    call: "MSFT_Disk.Initialize",
    fixture: NodeFixture::with_data_disk,
    act: partition,
    says: |fixture| format!("partition disk {}: ", fixture.disk()),
};

const CREATE_PARTITION: Case = Case {
    call: "MSFT_Disk.CreatePartition",
    ..INITIALISE
};

const TAKE_OFFLINE: Case = Case {
    call: "MSFT_Disk.Offline",
    fixture: NodeFixture::with_data_disk,
    act: |fixture| {
        api(fixture)
            .disks()
            .take_offline(&found(fixture), fixture.soon())
    },
    says: |fixture| format!("offline disk {}: ", fixture.disk()),
};

const FORMAT: Case = Case {
    call: "MSFT_Volume.Format",
    fixture: with_raw_volume,
    act: |fixture| {
        let volume = FoundVolume::on_disk(fixture.volume(), found(fixture));
        api(fixture).volumes().format(&volume, fixture.soon())
    },
    says: |fixture| format!("format volume {}: ", fixture.volume()),
};

const MOUNT: Case = Case {
    call: "SetVolumeMountPointW",
    fixture: with_staging_folder,
    act: |fixture| {
        let volume = FoundVolume::on_disk(fixture.volume(), found(fixture));
        let volumes = api(fixture).volumes();
        volumes.mount(&volume, &fixture.staging(), fixture.soon())
    },
    says: |fixture| {
        format!(
            "mount {}: mount volume {}",
            fixture.staging(),
            fixture.volume()
        )
    },
};

const FLUSH: Case = Case {
    call: "FlushFileBuffers",
    fixture: NodeFixture::with_volume,
    act: |fixture| {
        api(fixture)
            .volumes()
            .flush(fixture.volume(), fixture.soon())
    },
    says: |fixture| format!("flush volume {}: ", fixture.volume()),
};

const MAP: Case = Case {
    call: "MSFT_SmbGlobalMapping.Create",
    fixture: NodeFixture::with_server,
    act: map,
    says: |_| format!(r"map {SHARE}\: "),
};

const LOG_IN: Case = Case {
    call: "MSFT_iSCSITarget.Connect",
    fixture: NodeFixture::with_portal,
    act: |fixture| {
        let (portal, target) = (initiator::at(ADDRESS), initiator::named(OPEN));
        let none = Authentication::None;
        api(fixture)
            .iscsi()
            .connect(&portal, &target, &none, fixture.soon())
    },
    says: |_| format!("connect {OPEN}: "),
};

fn with_raw_volume() -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    fixture
}

fn with_staging_folder() -> NodeFixture {
    let fixture = NodeFixture::with_volume();
    let made = fixture
        .filesystem()
        .make_directory(&fixture.staging(), fixture.soon());
    made.unwrap();
    fixture
}

fn map(fixture: &NodeFixture) -> Result<(), Error> {
    let password = Zeroizing::new(PASSWORD.to_owned());
    let credentials = Credentials::new(USER, password);
    let remote = RemotePath::parse(SHARE).unwrap();
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    api(fixture).smb().map(&mapping, fixture.soon()).map(drop)
}

impl Case {
    /// How it fails while the call beneath does: what may pass by itself is tried again.
    fn failing(&self, fixture: &NodeFixture, effect: Effect) -> Error {
        let rule = Rule::on(self.call, effect).with_system_text(GERMAN);
        let rule = fixture.fault(rule);
        let error = (self.act)(fixture).unwrap_err();
        fixture.faults().remove(rule);
        error
    }

    fn check(&self, fixture: &NodeFixture, error: &Error, expected: (Condition, Code)) {
        let reported = (error.condition(), error.code());
        assert_eq!(reported, (Some(expected.0), Some(expected.1)), "{error}");
        assert_eq!(error.system_text(), Some(GERMAN), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&(self.says)(fixture)), "{text}");
        assert!(!text.contains(GERMAN), "{text}");
    }
}

/// The codes by which Windows may refuse to take a disk offline that is used.
const USED: [u32; 4] = [2, 4, 6, 40_001];

#[test]
fn each_win32_code_is_told_with_what_was_attempted_on_what() {
    for case in [INITIALISE, FORMAT, MOUNT, FLUSH, MAP] {
        let fixture = (case.fixture)();
        for (code, condition) in WIN32.map(|(code, condition)| (Win32(code), condition)) {
            let error = case.failing(&fixture, Effect::fail(code));
            case.check(&fixture, &error, (condition, Code::Win32(code)));
            let words = code.text().unwrap();
            assert!(error.to_string().ends_with(words), "{error}");
        }
    }
}

/// A failed query proves nothing about the disk's content or its role.
#[test]
fn what_could_not_be_read_is_told_by_its_code_and_not_as_a_refusal() {
    let fixture = NodeFixture::with_data_disk();
    let partition: Change = |fixture| fixture.try_partition();
    let offline: Change = |fixture| fixture.try_set_offline();
    for (call, change, failed) in [
        ("ReadFile", partition, Condition::DeviceFailed),
        // It is not the disk that failed.
        ("RegGetValueW", offline, Condition::Other),
    ] {
        for (code, condition) in [
            (Win32::IO_DEVICE, failed),
            (Win32::ACCESS_DENIED, Condition::AccessDenied),
        ] {
            let error = failing(&fixture, change, call, Effect::fail(code));
            let reported = (error.condition(), error.code());
            assert_eq!(
                reported,
                (Some(condition), Some(Code::Win32(code))),
                "{error}"
            );
            assert_eq!(error.system_text(), Some(GERMAN), "{error}");
        }
        let error = failing(&fixture, change, call, Effect::Fail(os::Cause::TimedOut));
        assert_eq!(error.cause, Cause::Deadline, "{error}");
    }
}

type Change = fn(&NodeFixture) -> Result<(), DiskError>;

fn failing(fixture: &NodeFixture, change: Change, call: &'static str, effect: Effect) -> Error {
    let rule = Rule::on(call, effect).times(1).with_system_text(GERMAN);
    fixture.fault(rule);
    Error::new("change", "it", change(fixture).unwrap_err())
}

/// The cause of each is asserted where identifiers are read, in `automation`.
#[test]
fn each_failure_of_the_field_is_the_condition_of_its_row() {
    for row in field_errors::all() {
        let cause = match row.cause.split_once(' ').unwrap() {
            ("win32", code) => os::Cause::Win32(Win32(code.parse().unwrap())),
            ("storage", code) => os::Cause::Storage(code.parse().unwrap()),
            ("hresult", code) => {
                let digits = code.strip_prefix("0x").unwrap();
                os::Cause::Hresult(Hresult(u32::from_str_radix(digits, 16).unwrap()))
            }
            other => panic!("{other:?}"),
        };
        let failed = ProviderError::from(os::Error::new("ExecMethod", "it", cause));
        let error = Error::new("call", "it", DiskError::from(failed));
        let condition = format!("{:?}", error.condition().unwrap());
        assert_eq!(condition, row.condition, "{row:?}");
    }
}

/// How a call of COM's tells the same.
#[test]
fn each_win32_code_in_an_hresult_is_told_as_what_it_is() {
    for case in [INITIALISE, MAP] {
        let fixture = (case.fixture)();
        for (code, condition) in WIN32 {
            let hresult = Hresult(0x8007_0000 | code);
            let error = case.failing(&fixture, Effect::fail(hresult));
            case.check(&fixture, &error, (condition, Code::Win32(Win32(code))));
        }
    }
}

/// How `MSFT_SmbGlobalMapping` refuses, by which of both no page says.
#[test]
fn each_win32_code_that_a_mapping_returns_is_told_as_what_it_is() {
    let fixture = NodeFixture::with_server();
    for (code, condition) in WIN32 {
        for returned in [code, 0x8007_0000 | code] {
            let error = MAP.failing(&fixture, answer(returned));
            MAP.check(&fixture, &error, (condition, Code::Win32(Win32(code))));
            let words = Win32(code).text().unwrap();
            let ending = format!("(target={SHARE}): code={returned}: {words}");
            assert!(error.to_string().ends_with(&ending), "{error}");
        }
    }
}

fn answer(code: u32) -> Effect {
    Effect::Answer(Outcome {
        extended: Some(GERMAN.to_owned()),
        ..Outcome::of(code)
    })
}

#[test]
fn each_code_that_a_storage_method_is_documented_to_return_is_told() {
    for (case, method, tolerated) in [
        (INITIALISE, &disk::INITIALIZE, None),
        // The partition is there all the same.
        (
            CREATE_PARTITION,
            &disk::CREATE_PARTITION,
            Some(codes::ACCESS_PATH_IN_USE),
        ),
        (TAKE_OFFLINE, &disk::OFFLINE, None),
        (FORMAT, &volume::FORMAT, None),
    ] {
        let fixture = (case.fixture)();
        let rows = method.returns.codes.iter();
        let rows = rows.filter(|row| **row != codes::SUCCESS && Some(**row) != tolerated);
        for ReturnCode { code, meaning } in rows.copied() {
            let error = case.failing(&fixture, answer(code));
            let condition = match method.name {
                // While volumes are locked nothing else is known to make it fail so.
                name if name == disk::OFFLINE.name && USED.contains(&code) => Condition::InUse,
                // The kernel has the disk.
                name if name == disk::OFFLINE.name && code == 8 => Condition::OutOfDate,
                _ => expected(&STORAGE, code),
            };
            case.check(&fixture, &error, (condition, Code::Returned(code)));
            let ending = format!("code={code}: {meaning}");
            assert!(error.to_string().ends_with(&ending), "{error}");
        }
    }
}

/// Windows may return what a method's page leaves out, or no page has.
#[test]
fn each_code_of_the_storage_provider_is_told_by_any_method() {
    let fixture = NodeFixture::with_data_disk();
    let all = codes::ALL.iter().filter(|row| **row != codes::SUCCESS);
    for code in all.map(|row| row.code).chain([42003, 42012]) {
        let error = INITIALISE.failing(&fixture, answer(code));
        let condition = expected(&STORAGE, code);
        INITIALISE.check(&fixture, &error, (condition, Code::Returned(code)));
        assert!(
            refusal(&fixture, code)
                .to_string()
                .contains(&format!("code={code}"))
        );
    }
}

/// By a return value or an HRESULT: which of both it is, no page says.
#[test]
fn each_code_of_the_initiator_is_told_whichever_way_it_comes() {
    let fixture = (LOG_IN.fixture)();
    // This error is checked: another caller may have been faster.
    let looked_into = iscsi_codes::TARGET_ALREADY_LOGGED_IN;
    let rows = iscsi_codes::ALL.iter();
    let rows = rows.filter(|row| **row != iscsi_codes::SUCCESS && **row != looked_into);
    for ReturnCode { code, meaning } in rows.copied() {
        let condition = expected(&INITIATOR, code);
        let error = LOG_IN.failing(&fixture, Effect::fail(Hresult(code)));
        LOG_IN.check(&fixture, &error, (condition, Code::Hresult(Hresult(code))));
        let text = error.to_string();
        assert!(
            text.ends_with(&format!("{}: {meaning}", Hresult(code))),
            "{text}"
        );
        let error = LOG_IN.failing(&fixture, answer(code));
        LOG_IN.check(&fixture, &error, (condition, Code::Returned(code)));
    }
    let error = LOG_IN.failing(&fixture, answer(looked_into.code));
    assert_eq!(
        error.condition(),
        Some(Condition::AlreadyConnected),
        "{error}"
    );
}

/// The functions beneath the initiator's classes are documented to fail with Win32's as well.
#[test]
fn each_win32_code_that_the_initiator_returns_is_told_as_what_it_is() {
    let fixture = (LOG_IN.fixture)();
    for (code, condition) in WIN32 {
        let error = LOG_IN.failing(&fixture, answer(code));
        LOG_IN.check(&fixture, &error, (condition, Code::Returned(code)));
        let words = Win32(code).text().unwrap();
        let ending = format!("(target={OPEN}): code={code}: {words}");
        assert!(error.to_string().ends_with(&ending), "{error}");
    }
}

/// WMI's path of an object is a line long, and another one after the next boot.
#[test]
fn a_call_that_fails_names_its_object_as_people_do() {
    let fixture = NodeFixture::with_data_disk();
    let error = INITIALISE.failing(&fixture, Effect::fail(Hresult::WBEM_E_FAILED));
    let text = format!(
        "partition disk {0}: IWbemServices.ExecMethod MSFT_Disk.Initialize of disk {0}: {1}",
        fixture.disk(),
        Hresult::WBEM_E_FAILED
    );
    assert_eq!(error.to_string(), text);
}

#[test]
fn what_frees_itself_is_worth_a_retry_and_nothing_else() {
    let worth = STORAGE.iter().filter(|(_, is)| is.is_transient());
    let worth: Vec<_> = worth.map(|(code, _)| *code).collect();
    assert_eq!(worth, [3, 6, 40002, 40003, 41000, 41001, 41015]);
    let worth = WIN32.iter().filter(|(_, is)| is.is_transient());
    let worth: Vec<_> = worth.map(|(code, _)| *code).collect();
    assert_eq!(worth, [21, 32, 53, 67, 170]);
}

#[test]
fn each_condition_says_whether_it_is_worth_a_retry() {
    const WORTH: [Condition; 8] = [
        Condition::Crowded,
        Condition::InUse,
        Condition::NotAnswering,
        Condition::NotReady,
        Condition::OutOfDate,
        Condition::ServerAway,
        Condition::ServerNotFound,
        Condition::Uncertain,
    ];
    for condition in Condition::ALL.iter().copied() {
        let cause = Cause::Failed {
            condition,
            text: String::new(),
            code: None,
            system_text: None,
        };
        let error = Error::new("do", "it", cause);
        let is_worth = WORTH.contains(&condition);
        assert_eq!(error.is_transient(), is_worth, "{condition:?}");
    }
}

#[test]
fn a_lost_connection_is_worth_a_retry_and_what_no_repetition_changes_is_not() {
    let reason = || "gone".to_owned();
    let never = [
        Cause::Deadline,
        Cause::InvalidArgument(reason()),
        Cause::Malformed(reason()),
        Cause::Refused { text: reason() },
        Cause::Unimplemented { text: reason() },
    ];
    for cause in never {
        let error = Error::new("do", "it", cause);
        assert!(!error.is_transient(), "{error}");
    }
    let lost = Error::new("do", "it", Cause::Lost { reason: reason() });
    assert!(lost.is_transient());
}

/// It has come about by the next call, mostly.
#[test]
fn what_does_not_show_in_time_is_worth_a_retry() {
    let service = || "MSiSCSI".to_owned();
    let (disk, partition) = (DiskNumber(3), PartitionNumber(2));
    let volume: VolumeId = VOLUME.parse().unwrap();
    let unreadable = vec![volume];
    let unseen = VisibilityError::NotVisible {
        disk,
        partition,
        unreadable,
    };
    for cause in [
        Cause::from(DiskError::Visibility(unseen.clone())),
        Cause::from(VolumeError::Visibility(unseen)),
        Cause::from(VolumeError::FormatUnseen { volume }),
        Cause::from(ServiceError::StartTimedOut { service: service() }),
        Cause::from(ServiceError::StopTimedOut { service: service() }),
    ] {
        let error = Error::new("do", "it", cause);
        assert_eq!(error.condition(), Some(Condition::NotReady), "{error}");
    }
    assert!(Condition::NotReady.is_transient());
}

fn expected(table: &[(u32, Condition)], code: u32) -> Condition {
    let known = table.iter().find(|(known, _)| *known == code);
    known.map_or(Condition::Other, |(_, condition)| *condition)
}

/// The same to a user of the operations, who has the provider's own error.
fn refusal(fixture: &NodeFixture, code: u32) -> DiskError {
    let rule = Rule::on(INITIALISE.call, answer(code)).times(1);
    fixture.fault(rule);
    let disk = fixture.disk();
    let error = fixture.disks().partition(disk, fixture.soon()).unwrap_err();
    let expected = ProviderError::Refused {
        class: disk::CLASS.name,
        method: disk::INITIALIZE.name,
        object: format!("disk {disk}"),
        code,
        detail: meaning(&disk::INITIALIZE, code),
        system_text: SystemText::new(GERMAN),
    };
    assert_eq!(error, DiskError::Provider(expected));
    assert!(
        error
            .source()
            .is_some_and(|system_text| system_text.is::<SystemText>())
    );
    error
}

fn meaning(method: &Method, code: u32) -> String {
    let meaning = method.meaning(code);
    meaning.map_or_else(String::new, |meaning| format!(": {meaning}"))
}
