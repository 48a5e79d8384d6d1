use formats::error_id::ErrorId;
use os::schema::wmi_error;
use os::{Cause, Hresult, Instance, Win32};

use crate::SchemaMismatch;

/// A failed call, and the system's account of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WmiError {
    /// The cause, on which callers branch.
    pub cause: Cause,
    /// The system's text, in its language: data, never matched on.
    pub extended: Option<String>,
    /// The component that failed, as far as that is known.
    pub origin: Origin,
}

impl WmiError {
    /// Interprets a call's code, with the thread's error object beside it.
    ///
    /// A Win32 code in an HRESULT becomes that Win32 code. The providers of the SMB namespace fail
    /// with a WMI code and put the meaningful one into [`wmi_error::CLASS`]. An error object counts
    /// if its [`wmi_error::MESSAGE_ID`] names a code.
    #[must_use]
    pub fn new(code: Hresult, description: Option<String>, object: Option<&Instance>) -> Self {
        let error_code = object.and_then(error_code);
        let reported = object.filter(|object| error_code.is_some() || is_wmi_error(object));
        let error_text = reported.and_then(error_text).map(str::to_owned);
        Self {
            cause: error_code.unwrap_or_else(|| cause(code)),
            extended: error_text.or(description).filter(|text| !text.is_empty()),
            origin: match object {
                Some(_) => Origin::Wmi,
                None => Origin::Unknown,
            },
        }
    }

    /// Whether the connection is gone, whatever became of the call.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_unsent() || self.is_one_of(&LOST)
    }

    /// Whether the connection is gone and the call never reached the other side.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        self.is_one_of(&UNSENT)
    }

    /// Whether the connection must not be used again. This includes the codes for a lost connection
    /// and all other codes of RPC, whose effect on the connection is not documented: a new connection
    /// costs little.
    #[must_use]
    pub fn breaks_connection(&self) -> bool {
        self.is_lost() || self.has_code(is_of_rpc)
    }

    fn is_one_of(&self, codes: &[Hresult]) -> bool {
        self.has_code(|code| codes.contains(&code))
    }

    /// Never for an answer with an error object: a provider may fail with the same codes because a service of its own
    /// is away, and the connection that delivered the object works.
    fn has_code(&self, is_it: impl Fn(Hresult) -> bool) -> bool {
        let is_answer = self.origin == Origin::Wmi;
        matches!(self.cause, Cause::Hresult(code) if !is_answer && is_it(code))
    }
}

/// Where a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// WMI or the connection to it.
    Unknown,
    /// WMI, or the provider behind it: it answered.
    Wmi,
}

/// The first is `RPC_E_SERVER_DIED`, the last are `OR_INVALID_OXID` and `OR_INVALID_OID`.
///
/// <https://learn.microsoft.com/windows/win32/debug/system-error-codes--1700-3999->
const LOST: [Hresult; 6] = [
    Hresult(0x8001_0007),
    Hresult::RPC_S_CALL_FAILED,
    Hresult::WBEM_E_TRANSPORT_FAILURE,
    Hresult::WBEM_E_SHUTTING_DOWN,
    Hresult(0x8007_0776),
    Hresult(0x8007_0777),
];

/// After the first: `RPC_S_CALL_FAILED_DNE`, `RPC_E_SERVER_DIED_DNE`, `RPC_E_DISCONNECTED`,
/// `CO_E_OBJNOTCONNECTED`.
///
/// <https://learn.microsoft.com/windows/win32/com/com-error-codes-3>
const UNSENT: [Hresult; 5] = [
    Hresult::RPC_S_SERVER_UNAVAILABLE,
    Hresult(0x8007_06BF),
    Hresult(0x8001_0012),
    Hresult(0x8001_0108),
    Hresult(0x8004_01FD),
];

impl From<Cause> for WmiError {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            extended: None,
            origin: Origin::Unknown,
        }
    }
}

impl From<SchemaMismatch> for WmiError {
    fn from(mismatch: SchemaMismatch) -> Self {
        Cause::Malformed(mismatch.to_string()).into()
    }
}

fn is_wmi_error(object: &Instance) -> bool {
    object.class.eq_ignore_ascii_case(wmi_error::CLASS.name)
}

fn error_code(object: &Instance) -> Option<Cause> {
    let typed = Some(object).filter(|object| is_wmi_error(object));
    let typed = typed.and_then(typed_code);
    typed.or_else(|| identified_code(object))
}

fn typed_code(object: &Instance) -> Option<Cause> {
    let code = object.u32(wmi_error::ERROR_CODE.name).ok()?;
    let kind = object.text(wmi_error::ERROR_TYPE.name).ok()?;
    if kind.eq_ignore_ascii_case(wmi_error::error_type::WIN32.value) {
        return (code != 0).then_some(Cause::Win32(Win32(code)));
    }
    let is_hresult = kind.eq_ignore_ascii_case(wmi_error::error_type::HRESULT.value);
    is_hresult.then_some(Hresult(code)).and_then(failure)
}

fn identified_code(object: &Instance) -> Option<Cause> {
    let identifier = object.text(wmi_error::MESSAGE_ID.name).ok()?;
    match ErrorId::parse(identifier)? {
        ErrorId::Win32(code) => Some(Cause::Win32(Win32(code))),
        ErrorId::Storage(code) => Some(Cause::Storage(code)),
        ErrorId::Hresult(code) => failure(Hresult(code)),
    }
}

fn failure(code: Hresult) -> Option<Cause> {
    code.is_failure().then(|| cause(code))
}

fn error_text(object: &Instance) -> Option<&str> {
    let of = |property| object.text(property).ok().filter(|text| !text.is_empty());
    of(wmi_error::MESSAGE.name).or_else(|| of(wmi_error::ERROR_WINDOWS_ERROR_MESSAGE.name))
}

/// The upper half of an HRESULT that holds a Win32 code.
const OF_WIN32: u32 = 0x8007_0000;

/// The first and the last of RPC's own codes. They report that the call did not get through, and
/// nothing about the object, so they are not translated.
const OF_RPC: std::ops::RangeInclusive<u32> = 1700..=1999;

/// The upper half of an HRESULT of RPC's own facility.
const FACILITY_RPC: u32 = 0x8001_0000;

fn cause(code: Hresult) -> Cause {
    match code.win32() {
        Some(win32) if !is_of_rpc(code) => win32.into(),
        _ => code.into(),
    }
}

fn is_of_rpc(code: Hresult) -> bool {
    upper(code) == FACILITY_RPC || (upper(code) == OF_WIN32 && OF_RPC.contains(&lower(code)))
}

fn upper(code: Hresult) -> u32 {
    code.0 & 0xFFFF_0000
}

fn lower(code: Hresult) -> u32 {
    code.0 & 0xFFFF
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use formats::fixtures::field_errors::{self, FieldFailure};
    use os::schema::wmi_error;
    use os::{Cause, Hresult, Instance, ObjectPath, Value, Win32};

    use super::WmiError;

    /// A cause, as the fixtures spell it.
    fn spelled(cause: &Cause) -> String {
        match cause {
            Cause::Win32(Win32(code)) => format!("win32 {code}"),
            Cause::Hresult(Hresult(code)) => format!("hresult {code:#010x}"),
            Cause::Storage(code) => format!("storage {code}"),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_identifiers_of_the_field_are_read_with_their_texts() {
        for row in field_errors::all() {
            let FieldFailure {
                identifier,
                text,
                cause,
                source,
                ..
            } = row;
            let mut object = identified_object(identifier, Value::Null);
            let message = wmi_error::MESSAGE.name.to_owned();
            object.properties.insert(message, Value::text(text));
            let fault = fault(&object);
            assert_eq!(spelled(&fault.cause), cause, "{identifier} of {source}");
            assert_eq!(fault.extended.as_deref(), Some(text), "{identifier}");
        }
    }

    /// As they come without PowerShell: the call's own code.
    #[test]
    fn codes_of_the_field_are_read_without_an_error_object() {
        let of = |code| WmiError::new(Hresult(code), None, None).cause;
        assert_eq!(of(0x54F), Cause::Win32(Win32::INTERNAL_ERROR));
        assert_eq!(of(0xEFFF_003E), Cause::Hresult(Hresult(0xEFFF_003E)));
        assert_eq!(of(0x8004_1001), Cause::Hresult(Hresult::WBEM_E_FAILED));
    }

    /// With the identifier that PowerShell shows in the field.
    fn identified_object(identifier: &str, kind: Value) -> Instance {
        let mut object = object("MI", 0);
        let identifier = Value::text(identifier);
        for (name, value) in [
            (wmi_error::ERROR_TYPE.name, kind),
            (wmi_error::MESSAGE_ID.name, identifier),
        ] {
            object.properties.insert(name.to_owned(), value);
        }
        object
    }

    fn object(kind: &str, code: u32) -> Instance {
        Instance {
            class: wmi_error::CLASS.name.to_owned(),
            path: ObjectPath(String::new()),
            properties: BTreeMap::from([
                (wmi_error::ERROR_CODE.name.to_owned(), Value::uint32(code)),
                (wmi_error::ERROR_TYPE.name.to_owned(), Value::text(kind)),
                (wmi_error::MESSAGE.name.to_owned(), Value::text("told")),
            ]),
        }
    }

    fn fault(object: &Instance) -> WmiError {
        WmiError::new(
            Hresult::WBEM_E_FAILED,
            Some("said".to_owned()),
            Some(object),
        )
    }

    #[test]
    fn the_code_behind_a_failed_smb_call_is_win32s() {
        for (kind, code) in [("WIN32", 1326), ("HRESULT", 0x8007_052E)] {
            let fault = fault(&object(kind, code));
            assert_eq!(fault.cause, Cause::Win32(Win32::LOGON_FAILURE), "{kind}");
            assert_eq!(fault.extended.as_deref(), Some("told"));
        }
    }

    #[test]
    fn an_error_object_that_tells_no_failure_changes_no_code() {
        for reported in [object("MI", 4), object("WIN32", 0), object("HRESULT", 0)] {
            assert_eq!(
                fault(&reported).cause,
                Cause::Hresult(Hresult::WBEM_E_FAILED)
            );
        }
        let mut other = object("WIN32", 5);
        other.class = "Elsewhere".to_owned();
        assert_eq!(fault(&other).cause, Cause::Hresult(Hresult::WBEM_E_FAILED));
        assert_eq!(fault(&other).extended.as_deref(), Some("said"));
    }

    #[test]
    fn a_code_whose_type_says_nothing_is_told_by_its_identifier() {
        for kind in [Value::Null, Value::text("MI"), Value::text("Win32 error")] {
            let object = identified_object("Windows System Error 53", kind.clone());
            let fault = fault(&object);
            assert_eq!(fault.cause, Cause::Win32(Win32::BAD_NETPATH), "{kind:?}");
            assert_eq!(fault.extended.as_deref(), Some("told"));
        }
    }

    #[test]
    fn a_code_of_a_known_type_goes_before_the_identifier() {
        let object = identified_object("Windows System Error 53", Value::text("WIN32"));
        assert_eq!(fault(&object).cause, Cause::Win32(Win32::BAD_NETPATH));
        let mut object = object;
        let code = (wmi_error::ERROR_CODE.name.to_owned(), Value::uint32(1326));
        object.properties.extend([code]);
        assert_eq!(fault(&object).cause, Cause::Win32(Win32::LOGON_FAILURE));
    }

    #[test]
    fn an_object_of_another_class_is_believed_by_its_identifier() {
        let mut object = identified_object("Windows System Error 1219", Value::Null);
        object.class = "CIM_Error".to_owned();
        object.properties.remove(wmi_error::ERROR_TYPE.name);
        object.properties.remove(wmi_error::ERROR_CODE.name);
        let fault = fault(&object);
        assert_eq!(fault.cause, Cause::Win32(Win32(1219)));
        assert_eq!(fault.extended.as_deref(), Some("told"));
    }

    #[test]
    fn an_identifier_of_a_success_changes_no_code() {
        for identifier in ["HRESULT 0x0", "HRESULT 0x1", "HRESULT 0x40004"] {
            let object = identified_object(identifier, Value::Null);
            let failed = Cause::Hresult(Hresult::WBEM_E_FAILED);
            assert_eq!(fault(&object).cause, failed, "{identifier}");
        }
    }

    #[test]
    fn only_what_was_never_sent_counts_as_unsent() {
        let of = |code| WmiError::new(Hresult(code), None, None);
        let gone = of(Hresult::RPC_S_SERVER_UNAVAILABLE.0);
        assert!(gone.is_lost() && gone.is_unsent());
        let cut = of(0x8007_06BE);
        assert!(cut.is_lost() && !cut.is_unsent());
        assert!(!of(Hresult::WBEM_E_NOT_FOUND.0).is_lost());
        let never_executed = of(0x8001_0012);
        assert!(never_executed.is_lost() && never_executed.is_unsent());
        for forgotten in [0x8007_0776, 0x8007_0777] {
            let forgotten = of(forgotten);
            assert!(forgotten.is_lost() && !forgotten.is_unsent());
        }
    }

    #[test]
    fn a_connection_is_not_used_again_after_any_code_of_rpc() {
        let of = |code| WmiError::new(Hresult(code), None, None);
        // RPC_S_SERVER_TOO_BUSY, RPC_X_BAD_STUB_DATA, RPC_E_SERVERCALL_RETRYLATER, RPC_E_TIMEOUT.
        for code in [0x8007_06BB, 0x8007_06F7, 0x8001_010A, 0x8001_011F] {
            let fault = of(code);
            assert!(fault.breaks_connection() && !fault.is_lost(), "{code:#x}");
        }
        for code in [0x8007_06BE, 0x8001_0012, 0x8004_1033, 0x8004_01FD] {
            assert!(of(code).breaks_connection(), "{code:#x}");
        }
        for code in [0x8007_0005, 0x8007_06A3, 0x8007_07D0, 0x8004_1001] {
            assert!(!of(code).breaks_connection(), "{code:#x}");
        }
        let win32: WmiError = Cause::Win32(Win32(1722)).into();
        assert!(!win32.breaks_connection());
    }

    /// The service behind a provider may be away with the same codes as WMI itself.
    #[test]
    fn what_wmi_answers_with_an_object_says_nothing_of_the_connection() {
        for code in [0x8007_06BA, 0x8007_06BE, 0x8001_0108, 0x8007_06BB] {
            let lost = WmiError::new(Hresult(code), None, None);
            assert!(lost.breaks_connection(), "{code:#x}");
            let mut error = object("MI", 0);
            error.class = "__ExtendedStatus".to_owned();
            let reported = WmiError::new(Hresult(code), None, Some(&error));
            assert!(
                !reported.breaks_connection() && !reported.is_unsent(),
                "{code:#x}"
            );
        }
    }

    #[test]
    fn codes_of_rpc_stay_what_they_are() {
        let of = |code| WmiError::new(Hresult(code), None, None).cause;
        assert_eq!(of(0x8007_0005), Cause::Win32(Win32::ACCESS_DENIED));
        let gone = Hresult::RPC_S_SERVER_UNAVAILABLE;
        assert_eq!(of(gone.0), Cause::Hresult(gone));
        assert_eq!(of(0x8004_1002), Cause::Hresult(Hresult::WBEM_E_NOT_FOUND));
    }
}
