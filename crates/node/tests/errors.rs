//! Each code that Windows is known to fail with here, on its way to a library's user: what was attempted on
//! what, the code, its condition, and the system's text beside it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::error::Error as _;

use os::Hresult;
use os::Outcome;
use os::SystemText;
use os::Win32;
use os::schema::Method;
use os::schema::ReturnCode;
use os::schema::codes;
use os::schema::disk;
use os::schema::volume;
use os_sim::Effect;
use os_sim::Rule;
use support::DATA;
use support::PASSWORD;
use support::Rig;
use support::SHARE;
use support::USER;
use wincsi_node::Credentials;
use wincsi_node::Criterion;
use wincsi_node::DiskError;
use wincsi_node::DiskQuery;
use wincsi_node::FoundDisk;
use wincsi_node::FoundVolume;
use wincsi_node::Mapping;
use wincsi_node::MappingOptions;
use wincsi_node::ProviderError;
use wincsi_node::RemotePath;
use wincsi_node::SerialNumber;
use wincsi_node::api::Cause;
use wincsi_node::api::Code;
use wincsi_node::api::Condition;
use wincsi_node::api::Error;
use wincsi_node::api::NodeApi;
use zeroize::Zeroizing;

/// What Windows fails with where storage, shares and services are used, and what a driver branches on.
const WIN32: [(u32, Condition); 12] = [
    (3, Condition::NotFound),
    (5, Condition::AccessDenied),
    (32, Condition::Other),
    (53, Condition::ServerNotFound),
    (67, Condition::ServerNotFound),
    (87, Condition::Other),
    (170, Condition::Other),
    (1117, Condition::Other),
    (1219, Condition::CredentialsConflict),
    (1312, Condition::LogonFailure),
    (1326, Condition::LogonFailure),
    (2250, Condition::Other),
];

/// What a German system says.
const GERMAN: &str = "Ein an das System angeschlossenes Ger\u{e4}t funktioniert nicht";

/// One operation, and the call beneath it that fails.
struct Case {
    call: &'static str,
    rig: fn() -> Rig,
    act: fn(&Rig) -> Result<(), Error>,
    /// What was attempted on what.
    says: fn(&Rig) -> String,
}

const INITIALISE: Case = Case {
    call: "MSFT_Disk.Initialize",
    rig: Rig::with_data_disk,
    act: partition,
    says: |rig| format!("partition disk {}: ", rig.disk()),
};

const CREATE_PARTITION: Case = Case {
    call: "MSFT_Disk.CreatePartition",
    ..INITIALISE
};

const TAKE_OFFLINE: Case = Case {
    call: "MSFT_Disk.Offline",
    rig: Rig::with_data_disk,
    act: |rig| api(rig).disks().take_offline(&found(rig), rig.soon()),
    says: |rig| format!("offline disk {}: ", rig.disk()),
};

const FORMAT: Case = Case {
    call: "MSFT_Volume.Format",
    rig: with_raw_volume,
    act: |rig| {
        let volume = FoundVolume::on_disk(rig.volume(), found(rig));
        api(rig).volumes().format(&volume, rig.soon())
    },
    says: |rig| format!("format volume {}: ", rig.volume()),
};

const MOUNT: Case = Case {
    call: "SetVolumeMountPointW",
    rig: with_staging_folder,
    act: |rig| {
        let volumes = api(rig).volumes();
        volumes.mount(rig.volume(), &rig.staging(), rig.soon())
    },
    says: |rig| format!("mount {}: mount volume {}", rig.staging(), rig.volume()),
};

const FLUSH: Case = Case {
    call: "FlushFileBuffers",
    rig: Rig::with_volume,
    act: |rig| api(rig).volumes().flush(rig.volume(), rig.soon()),
    says: |rig| format!("flush volume {}: ", rig.volume()),
};

const MAP: Case = Case {
    call: "MSFT_SmbGlobalMapping.Create",
    rig: Rig::with_server,
    act: map,
    says: |_| format!(r"map {SHARE}\: "),
};

fn api(rig: &Rig) -> &dyn NodeApi {
    &rig.node
}

fn with_raw_volume() -> Rig {
    let rig = Rig::with_data_disk();
    rig.node.disks().partition(rig.disk(), rig.soon()).unwrap();
    rig
}

fn with_staging_folder() -> Rig {
    let rig = Rig::with_volume();
    let made = rig
        .node
        .filesystem()
        .make_directory(&rig.staging(), rig.soon());
    made.unwrap();
    rig
}

fn found(rig: &Rig) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    api(rig).disks().find(&wanted, rig.soon()).unwrap()
}

fn partition(rig: &Rig) -> Result<(), Error> {
    api(rig).disks().partition(&found(rig), rig.soon())
}

fn map(rig: &Rig) -> Result<(), Error> {
    let password = Zeroizing::new(PASSWORD.to_owned());
    let credentials = Credentials::new(USER, password);
    let mapping = Mapping {
        remote: &RemotePath::parse(SHARE).unwrap(),
        credentials: credentials.as_ref(),
        link: None,
        options: MappingOptions::default(),
    };
    api(rig).smb().map(&mapping, rig.soon())
}

impl Case {
    /// How it fails when the call beneath does once.
    fn failing(&self, rig: &Rig, effect: Effect) -> Error {
        let rule = Rule::on(self.call, effect).times(1).saying(GERMAN);
        rig.sim.faults().add(rule);
        (self.act)(rig).unwrap_err()
    }

    fn check(&self, rig: &Rig, error: &Error, expected: (Condition, Code)) {
        let told = (error.condition(), error.code());
        assert_eq!(told, (Some(expected.0), Some(expected.1)), "{error}");
        assert_eq!(error.system_text(), Some(GERMAN), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&(self.says)(rig)), "{text}");
        assert!(!text.contains(GERMAN), "{text}");
    }
}

#[test]
fn each_win32_code_is_told_with_what_was_attempted_on_what() {
    for case in [INITIALISE, FORMAT, MOUNT, FLUSH, MAP] {
        let rig = (case.rig)();
        for (code, condition) in WIN32.map(|(code, condition)| (Win32(code), condition)) {
            let error = case.failing(&rig, Effect::fail(code));
            case.check(&rig, &error, (condition, Code::Win32(code)));
            let words = code.text().unwrap();
            assert!(error.to_string().ends_with(words), "{error}");
        }
    }
}

/// What could not be asked says nothing of what is on the disk, nor of what the disk is for.
#[test]
fn what_could_not_be_read_is_told_by_its_code_and_not_as_a_refusal() {
    let rig = Rig::with_data_disk();
    for call in ["ReadFile", "RegGetValueW"] {
        for (code, condition) in [
            (Win32::IO_DEVICE, Condition::Other),
            (Win32::ACCESS_DENIED, Condition::AccessDenied),
        ] {
            let error = failing_partition(&rig, call, Effect::fail(code));
            let told = (error.condition(), error.code());
            assert_eq!(told, (Some(condition), Some(Code::Win32(code))), "{error}");
            assert_eq!(error.system_text(), Some(GERMAN), "{error}");
        }
        let error = failing_partition(&rig, call, Effect::Fail(os::Cause::TimedOut));
        assert_eq!(error.cause, Cause::Deadline, "{error}");
    }
}

fn failing_partition(rig: &Rig, call: &'static str, effect: Effect) -> Error {
    let rule = Rule::on(call, effect).times(1).saying(GERMAN);
    rig.sim.faults().add(rule);
    let error = rig.node.disks().partition(rig.disk(), rig.soon());
    Error::new("partition", "it", error.unwrap_err())
}

/// How a call of COM's tells the same.
#[test]
fn each_win32_code_in_an_hresult_is_told_as_what_it_is() {
    for case in [INITIALISE, MAP] {
        let rig = (case.rig)();
        for (code, condition) in WIN32 {
            let hresult = Hresult(0x8007_0000 | code);
            let error = case.failing(&rig, Effect::fail(hresult));
            case.check(&rig, &error, (condition, Code::Win32(Win32(code))));
        }
    }
}

/// How `MSFT_SmbGlobalMapping` refuses, by which of both no page says.
#[test]
fn each_win32_code_that_a_mapping_returns_is_told_as_what_it_is() {
    let rig = Rig::with_server();
    for (code, condition) in WIN32 {
        for returned in [code, 0x8007_0000 | code] {
            let error = MAP.failing(&rig, answer(returned));
            MAP.check(&rig, &error, (condition, Code::Win32(Win32(code))));
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
        let rig = (case.rig)();
        let rows = method.returns.codes.iter();
        let rows = rows.filter(|row| **row != codes::SUCCESS && Some(**row) != tolerated);
        for ReturnCode { code, meaning } in rows.copied() {
            let error = case.failing(&rig, answer(code));
            case.check(&rig, &error, (Condition::Other, Code::Returned(code)));
            let ending = format!("code={code}: {meaning}");
            assert!(error.to_string().ends_with(&ending), "{error}");
        }
    }
}

/// Windows may return what a method's page leaves out, or no page has.
#[test]
fn each_code_of_the_storage_provider_is_told_by_any_method() {
    let rig = Rig::with_data_disk();
    let all = codes::ALL.iter().map(|row| row.code);
    let ours = all.filter(|code| *code == 40003 || (41000..=42012).contains(code));
    for code in ours.chain([42003, 42012]) {
        let error = INITIALISE.failing(&rig, answer(code));
        INITIALISE.check(&rig, &error, (Condition::Other, Code::Returned(code)));
        assert!(
            refusal(&rig, code)
                .to_string()
                .contains(&format!("code={code}"))
        );
    }
}

/// The same to a user of the operations, who has the provider's own error.
fn refusal(rig: &Rig, code: u32) -> DiskError {
    let rule = Rule::on(INITIALISE.call, answer(code)).times(1);
    rig.sim.faults().add(rule);
    let disk = rig.disk();
    let error = rig.node.disks().partition(disk, rig.soon()).unwrap_err();
    let expected = ProviderError::Refused {
        class: disk::CLASS.name,
        method: disk::INITIALIZE.name,
        object: format!("disk {disk}"),
        code,
        detail: meaning(&disk::INITIALIZE, code),
        said: SystemText::new(GERMAN),
    };
    assert_eq!(error, DiskError::Provider(expected));
    assert!(error.source().is_some_and(|said| said.is::<SystemText>()));
    error
}

fn meaning(method: &Method, code: u32) -> String {
    let meaning = method.meaning(code);
    meaning.map_or_else(String::new, |meaning| format!(": {meaning}"))
}
