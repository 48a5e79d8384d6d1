//! Errors of failed calls.

use std::collections::BTreeMap;

use os::schema::{codes, disk, extended_status, smb_global_mapping, wmi_error};
use os::{
    Arguments, Cause, Deadline, Error, Hresult, Instance, ObjectPath, Outcome, Provider, Query,
    Returned, SystemText, Target, Value, Win32,
};
use os_sim::{Effect, Rule};
use wincsi_os_windows_testkit::{ErrorInfo, On, Trouble};

use crate::provider_fixture::{ProviderFixture, UNSENT};

/// Windows's error codes for storage, shares and services.
const CODES: [u32; 12] = [3, 5, 32, 53, 67, 87, 170, 1117, 1219, 1312, 1326, 2250];

fn mapping(fixture: &ProviderFixture) -> Error {
    mapping_by(fixture, r"corp\\joe:secret")
}

fn mapping_by(fixture: &ProviderFixture, credential: &str) -> Error {
    let class = Target::Class(smb_global_mapping::CLASS.name);
    let path = smb_global_mapping::create::REMOTE_PATH.name;
    let arguments = Arguments::none()
        .with(path, Value::text(r"\\files\data"))
        .with(
            smb_global_mapping::create::CREDENTIAL.name,
            Value::text(credential),
        );
    let method = smb_global_mapping::CREATE.name;
    let done = fixture
        .native
        .invoke(class, method, &arguments, Deadline::NEVER);
    done.expect_err("a failure")
}

#[test]
fn the_code_behind_a_failed_mapping_is_the_error_objects() {
    let fixture = ProviderFixture::new();
    for code in CODES.map(Win32) {
        let failing = Effect::fail(code);
        let rule = Rule::on("MSFT_SmbGlobalMapping.Create", failing).times(1);
        fixture.node.faults().add(rule);
        let error = mapping(&fixture);
        assert_eq!(error.cause, Cause::Win32(code));
        assert_eq!(error.operation, "IWbemServices.ExecMethod");
        assert_eq!(error.object, "Create of MSFT_SmbGlobalMapping");
    }
}

#[test]
fn a_query_fails_with_the_error_objects_code_as_well() {
    let fixture = ProviderFixture::new();
    let failing = Effect::fail(Win32::ACCESS_DENIED);
    let rule = Rule::on("IWbemServices.ExecQuery", failing).in_facility(os::Facility::Smb);
    fixture.node.faults().add(rule);
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    let error = fixture.native.query(&query, Deadline::NEVER);
    let cause = error.expect_err("denied").cause;
    assert_eq!(cause, Cause::Win32(Win32::ACCESS_DENIED));
}

#[test]
fn a_failed_storage_method_has_the_code_that_windows_gave() {
    let fixture = ProviderFixture::new();
    for code in CODES.map(Win32) {
        let failing = Effect::fail(code);
        fixture
            .node
            .faults()
            .add(Rule::on("MSFT_Disk.Refresh", failing).times(1));
        let error = fixture.refresh().expect_err("a failure");
        assert_eq!(error.cause, Cause::Win32(code));
    }
}

#[test]
fn a_return_value_is_an_outcome_with_the_text_of_its_extended_status() {
    let fixture = ProviderFixture::new();
    for row in disk::INITIALIZE.returns.codes {
        let wmi_error_row = Outcome {
            extended: Some(format!("told of {}", row.meaning)),
            ..Outcome::of(row.code)
        };
        let answer = Effect::Answer(wmi_error_row.clone());
        fixture
            .node
            .faults()
            .add(Rule::on("MSFT_Disk.Initialize", answer).times(1));
        let outcome = fixture.initialise(Deadline::NEVER).expect("an outcome");
        assert_eq!(
            (outcome.code, outcome.extended),
            (wmi_error_row.code, wmi_error_row.extended)
        );
    }
}

/// The provider leaves open whether it did its work.
#[test]
fn a_return_value_that_is_null_is_neither_success_nor_failure() {
    let fixture = ProviderFixture::new();
    let null = Effect::AnswerAfter(Outcome::of(Returned::Null));
    let rule = Rule::on("MSFT_Disk.Initialize", null).times(1);
    fixture.node.faults().add(rule);
    let outcome = fixture.initialise(Deadline::NEVER).expect("an outcome");
    assert_eq!(outcome.code, Returned::Null);
    assert!(fixture.is_initialised());
}

/// As the iSCSI initiator fails with 0x54f: it has no bit of a failure.
#[test]
fn a_win32_code_without_a_facility_is_a_failure_of_methods_and_queries() {
    let fixture = ProviderFixture::new();
    let bare = || Trouble::Fails(Hresult(0x54F), ErrorInfo::Nothing);
    fixture.wmi.inject(On::Method, bare());
    assert_eq!(mapping(&fixture).cause, Cause::Win32(Win32::INTERNAL_ERROR));
    fixture.wmi.inject(On::Query, bare());
    let error = fixture.disks().expect_err("it fails");
    assert_eq!(error.cause, Cause::Win32(Win32::INTERNAL_ERROR));
}

#[test]
fn a_storage_call_that_fails_with_a_return_code_tells_it() {
    let fixture = ProviderFixture::new();
    let failing = Effect::Fail(Cause::Storage(codes::SIZE_NOT_SUPPORTED.code));
    fixture
        .node
        .faults()
        .add(Rule::on("MSFT_Disk.Refresh", failing).times(1));
    let error = fixture.refresh().expect_err("a failure");
    assert_eq!(error.cause, Cause::Storage(4097));
}

/// A provider fails with RPC's codes when a service of its own is away. Its error object came over the connection.
#[test]
fn a_provider_that_answers_with_a_code_of_rpc_is_not_asked_again() {
    let fixture = ProviderFixture::new();
    fixture.disk();
    let made = fixture.wmi.connections();
    let error_info = ErrorInfo::Object(Box::new(status()));
    fixture
        .wmi
        .inject(On::Query, Trouble::Fails(UNSENT, error_info));
    let error = fixture.disks().expect_err("the provider failed");
    assert_eq!(error.cause, Cause::Hresult(UNSENT));
    assert_eq!(fixture.disks().expect("disks").len(), 2);
    assert_eq!(fixture.wmi.connections(), made);
}

/// Listed or not: a code missing in a method's page is an outcome too.
#[test]
fn each_code_of_the_storage_provider_is_an_outcome() {
    let fixture = ProviderFixture::new();
    let all = codes::ALL.iter().map(|row| row.code);
    let ours = all.filter(|code| *code == 40003 || (41000..=42012).contains(code));
    for code in ours.chain([42003, 42012]) {
        let answer = Effect::Answer(Outcome::of(code));
        let rule = Rule::on("MSFT_Disk.Refresh", answer).times(1);
        fixture.node.faults().add(rule);
        assert_eq!(fixture.refresh().expect("an outcome").code, code);
    }
}

/// In the description of the thread's error object, or in the provider's own.
#[test]
fn what_the_system_says_stands_beside_the_code_and_is_not_printed() {
    let fixture = ProviderFixture::new();
    let german = "Zugriff verweigert";
    for code in CODES.map(Win32) {
        for call in ["MSFT_Disk.Refresh", "MSFT_SmbGlobalMapping.Create"] {
            let rule = Rule::on(call, Effect::fail(code))
                .times(1)
                .with_system_text(german);
            fixture.node.faults().add(rule);
        }
        for error in [fixture.refresh().expect_err("a failure"), mapping(&fixture)] {
            assert_eq!(error.cause, Cause::Win32(code));
            assert_eq!(error.system_text, SystemText::new(german));
            assert!(!error.to_string().contains(german), "{error}");
        }
    }
}

#[test]
fn what_the_system_says_is_dropped_when_it_has_the_password() {
    let fixture = ProviderFixture::new();
    let text = "user joe with hunter2 is refused";
    for error_info in [
        ErrorInfo::Description(text.to_owned()),
        ErrorInfo::Object(Box::new(wmi_error_row("WIN32", 5, text))),
    ] {
        let trouble = Trouble::Fails(Hresult::WBEM_E_FAILED, error_info);
        fixture.wmi.inject(On::Method, trouble);
        let error = mapping_by(&fixture, r"corp\\joe:hunter2");
        let seen = format!("{error:?} {error}");
        assert!(!seen.contains("hunter2"), "{seen}");
    }
}

/// A call's error object on the thread has no effect on later calls.
#[test]
fn an_error_object_is_told_once() {
    let fixture = ProviderFixture::new();
    let refused = Win32::LOGON_FAILURE;
    let rule = Rule::on("MSFT_SmbGlobalMapping.Create", Effect::fail(refused)).times(1);
    fixture.node.faults().add(rule);
    assert_eq!(mapping(&fixture).cause, Cause::Win32(refused));
    let failed = Hresult::WBEM_E_FAILED;
    fixture
        .wmi
        .inject(On::Method, Trouble::Fails(failed, ErrorInfo::Nothing));
    assert_eq!(mapping(&fixture).cause, Cause::Hresult(failed));
}

#[test]
fn an_error_object_that_tells_no_code_changes_none() {
    let fixture = ProviderFixture::new();
    let failed = Hresult::WBEM_E_FAILED;
    for error_info in [
        ErrorInfo::Description("nothing in particular".to_owned()),
        ErrorInfo::Object(Box::new(error_object("MI", 4))),
        ErrorInfo::Object(Box::new(status())),
    ] {
        let trouble = Trouble::Fails(failed, error_info.clone());
        fixture.wmi.inject(On::Method, trouble);
        assert_eq!(
            mapping(&fixture).cause,
            Cause::Hresult(failed),
            "{error_info:?}"
        );
    }
}

#[test]
fn an_error_object_without_a_type_tells_its_code_by_its_identifier() {
    let fixture = ProviderFixture::new();
    let error_info = [
        (wmi_error::ERROR_TYPE.name, Value::Null),
        (
            wmi_error::MESSAGE_ID.name,
            Value::text("Windows System Error 53"),
        ),
    ];
    for class in [&wmi_error::CLASS, &extended_status::CLASS] {
        let known = error_info
            .clone()
            .map(|(name, value)| (name.to_owned(), value));
        let known = known
            .into_iter()
            .filter(|(name, _)| class.property(name).is_some());
        let wmi_error_row = Instance {
            properties: known.collect(),
            ..object(class.name, [])
        };
        let trouble = Trouble::Fails(
            Hresult::WBEM_E_FAILED,
            ErrorInfo::Object(Box::new(wmi_error_row)),
        );
        fixture.wmi.inject(On::Method, trouble);
        let cause = mapping(&fixture).cause;
        assert_eq!(cause, Cause::Win32(Win32::BAD_NETPATH), "{}", class.name);
    }
}

#[test]
fn an_error_object_of_a_method_that_did_not_begin_is_read_too() {
    let fixture = ProviderFixture::new();
    let object = error_object(wmi_error::error_type::WIN32.value, 1219);
    let error_info = ErrorInfo::Object(Box::new(object));
    let trouble = Trouble::Fails(Hresult::WBEM_E_FAILED, error_info);
    fixture.wmi.inject(On::Definition, trouble);
    let cause = mapping(&fixture).cause;
    assert_eq!(cause, Cause::Win32(Win32::SESSION_CREDENTIAL_CONFLICT));
}

#[test]
fn an_object_that_is_gone_is_not_found() {
    let fixture = ProviderFixture::new();
    let gone = ObjectPath(format!(
        "{}.{}=\"x\"",
        disk::CLASS.name,
        disk::OBJECT_ID.name
    ));
    let none = Arguments::none();
    let done = fixture.call(&gone, disk::REFRESH.name, &none, Deadline::NEVER);
    assert!(done.expect_err("no such disk").is_not_found());
}

#[test]
fn a_code_of_the_providers_is_no_failure_of_the_call() {
    let fixture = ProviderFixture::new();
    assert_eq!(
        fixture
            .initialise(Deadline::NEVER)
            .expect("an outcome")
            .code,
        0
    );
    let again = fixture.initialise(Deadline::NEVER).expect("an outcome");
    assert_eq!(again.code, codes::DISK_ALREADY_INITIALIZED.code);
}

fn error_object(kind: &str, code: u32) -> Instance {
    wmi_error_row(kind, code, "told")
}

fn wmi_error_row(kind: &str, code: u32, text: &str) -> Instance {
    object(
        wmi_error::CLASS.name,
        [
            (wmi_error::ERROR_CODE.name, Value::uint32(code)),
            (wmi_error::ERROR_TYPE.name, Value::text(kind)),
            (wmi_error::MESSAGE.name, Value::text(text)),
        ],
    )
}

fn status() -> Instance {
    let message = (extended_status::MESSAGE.name, Value::text("told"));
    object(extended_status::CLASS.name, [message])
}

fn object<const N: usize>(class: &str, values: [(&str, Value); N]) -> Instance {
    let values = values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Instance {
        class: class.to_owned(),
        path: ObjectPath(String::new()),
        properties: BTreeMap::from_iter(values),
    }
}
