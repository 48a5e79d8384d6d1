//! A failure through COM, as a library's user sees it: `node`'s own tests have it from the simulated node directly.

use std::sync::Arc;

use node::api::{Code, Condition, Error, NodeApi};
use node::{
    Credentials, Criterion, DiskQuery, MapRequest, Node, Options, RemotePath, SerialNumber,
};
use os::schema::codes;
use os::{Deadline, Os, Outcome, Provider, Win32};
use os_sim::{ClockMode, Effect, Rule, SimNode, demo};
use os_windows::NativeProvider;
use tempfile::TempDir;
use wincsi_os_windows_testkit::{InProcessWmi, OutParameters};
use zeroize::Zeroizing;

/// Known refusal codes of SMB servers, and a driver's conditions for them.
const REFUSALS: [(u32, Condition); 6] = [
    (5, Condition::AccessDenied),
    (53, Condition::ServerNotFound),
    (67, Condition::ServerNotFound),
    (1219, Condition::CredentialsConflict),
    (1312, Condition::LogonFailure),
    (1326, Condition::LogonFailure),
];

/// A German system's text.
const GERMAN: &str = "Ein an das System angeschlossenes Ger\u{e4}t funktioniert nicht";

/// The operations on a simulated node, with its providers behind COM.
struct NodeFixture {
    node: Node,
    sim: SimNode,
    _home: TempDir,
}

/// One operation, and its failing call beneath.
struct Case {
    call: &'static str,
    act: fn(&dyn NodeApi) -> Result<(), Error>,
    /// The operation and object in the error's text.
    says: &'static str,
}

const MAP: Case = Case {
    call: "MSFT_SmbGlobalMapping.Create",
    act: map,
    says: r"map \\fileserver\share\: ",
};

const PARTITION: Case = Case {
    call: "MSFT_Disk.Initialize",
    act: partition,
    says: "partition disk 1: ",
};

#[test]
fn the_error_object_of_a_mapping_is_a_condition() {
    let fixture = NodeFixture::new();
    for (code, condition) in REFUSALS {
        let error = fixture.failing(&MAP, Effect::fail(Win32(code)));
        MAP.check(&error, condition, Code::Win32(Win32(code)));
        assert_eq!(error.system_text(), Some(GERMAN), "{error}");
    }
}

/// It is not documented by which of the two `MSFT_SmbGlobalMapping` refuses. Its methods have no `ExtendedStatus` with
/// more details.
#[test]
fn the_return_value_of_a_mapping_is_the_same_condition() {
    let fixture = NodeFixture::new();
    for (code, condition) in REFUSALS {
        for returned in [code, 0x8007_0000 | code] {
            let error = fixture.failing(&MAP, answer(returned));
            MAP.check(&error, condition, Code::Win32(Win32(code)));
            assert_eq!(error.system_text(), None, "{error}");
        }
    }
}

#[test]
fn the_status_of_a_storage_method_is_a_condition() {
    let fixture = NodeFixture::new();
    for (code, condition) in [
        (Win32::ACCESS_DENIED, Condition::AccessDenied),
        (Win32::IO_DEVICE, Condition::DeviceFailed),
    ] {
        let error = fixture.failing(&PARTITION, Effect::fail(code));
        PARTITION.check(&error, condition, Code::Win32(code));
        assert_eq!(error.system_text(), Some(GERMAN), "{error}");
    }
}

#[test]
fn the_return_value_of_a_storage_method_is_its_code() {
    let fixture = NodeFixture::new();
    let all = codes::ALL.iter().map(|row| row.code);
    for code in all.filter(|code| *code == 40003 || (41000..42000).contains(code)) {
        let error = fixture.failing(&PARTITION, answer(code));
        PARTITION.check(&error, Condition::of_storage(code), Code::Returned(code));
        assert_eq!(error.system_text(), Some(GERMAN), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("code={code}")), "{text}");
    }
}

impl NodeFixture {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let sim = demo::create(&home.path().join("node"), ClockMode::Virtual).expect("a node");
        let node = Node::new(through_com(sim.os()), Options::default());
        node.operations()
            .disks()
            .rescan(Deadline::NEVER)
            .expect("a rescan");
        Self {
            node,
            sim,
            _home: home,
        }
    }

    /// How it fails when the call beneath does once.
    fn failing(&self, case: &Case, effect: Effect) -> Error {
        let rule = Rule::on(case.call, effect)
            .times(1)
            .with_system_text(GERMAN);
        self.sim.faults().add(rule);
        (case.act)(&self.node).expect_err("a failure")
    }
}

impl Case {
    fn check(&self, error: &Error, condition: Condition, code: Code) {
        let reported = (error.condition(), error.code());
        assert_eq!(reported, (Some(condition), Some(code)), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(self.says), "{text}");
        assert!(!text.contains(GERMAN), "{text}");
    }
}

/// The same node, its providers behind COM objects.
fn through_com(os: Os) -> Os {
    let wmi = InProcessWmi::over(os.clone(), OutParameters::Result);
    let clock = Arc::clone(&os.clock);
    let native: Arc<dyn Provider> = Arc::new(NativeProvider::over(clock, Arc::new(wmi)));
    Os {
        iscsi: Arc::clone(&native),
        smb: Arc::clone(&native),
        storage: native,
        ..os
    }
}

fn answer(code: u32) -> Effect {
    Effect::Answer(Outcome {
        extended: Some(GERMAN.to_owned()),
        ..Outcome::of(code)
    })
}

fn map(node: &dyn NodeApi) -> Result<(), Error> {
    let password = Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    let credentials = Credentials::new(demo::SMB_USER, password);
    let remote = RemotePath::parse(demo::SHARE).expect("a share");
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    let mapped = node.smb().map(&mapping, Deadline::NEVER);
    mapped.map(drop)
}

fn partition(node: &dyn NodeApi) -> Result<(), Error> {
    let serial = SerialNumber::parse(demo::DISK_SERIAL).expect("a serial number");
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).expect("a query");
    let found = node.disks().find(&wanted, Deadline::NEVER)?;
    node.disks().partition(&found, Deadline::NEVER)
}
