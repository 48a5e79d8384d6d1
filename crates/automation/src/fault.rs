use os::Cause;
use os::Hresult;
use os::Instance;
use os::Win32;
use os::schema::wmi_error;

use crate::Odd;

/// A call that failed, and what the system says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What callers branch on.
    pub cause: Cause,
    /// The system's text, in its language: data, never matched on.
    pub extended: Option<String>,
}

impl Fault {
    /// What a call's code means, with the thread's error object beside it.
    ///
    /// A code of Win32's in an HRESULT is told as what it is. The providers of the SMB namespace fail
    /// with a code of WMI's and put the one that says something into [`wmi_error::CLASS`].
    #[must_use]
    pub fn new(code: Hresult, description: Option<String>, object: Option<&Instance>) -> Self {
        let told = object.filter(|object| is_wmi_error(object));
        let told_code = told.and_then(told_code);
        let told_text = told.and_then(told_text).map(str::to_owned);
        Self {
            cause: told_code.unwrap_or_else(|| cause(code)),
            extended: told_text.or(description).filter(|text| !text.is_empty()),
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

    fn is_one_of(&self, codes: &[Hresult]) -> bool {
        matches!(self.cause, Cause::Hresult(code) if codes.contains(&code))
    }
}

/// The first is `RPC_E_SERVER_DIED`.
const LOST: [Hresult; 4] = [
    Hresult(0x8001_0007),
    Hresult::RPC_S_CALL_FAILED,
    Hresult::WBEM_E_TRANSPORT_FAILURE,
    Hresult::WBEM_E_SHUTTING_DOWN,
];

/// After the first: `RPC_S_CALL_FAILED_DNE`, `RPC_E_DISCONNECTED`, `CO_E_OBJNOTCONNECTED`.
const UNSENT: [Hresult; 4] = [
    Hresult::RPC_S_SERVER_UNAVAILABLE,
    Hresult(0x8007_06BF),
    Hresult(0x8001_0108),
    Hresult(0x8004_01FD),
];

impl From<Cause> for Fault {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            extended: None,
        }
    }
}

impl From<Odd> for Fault {
    fn from(odd: Odd) -> Self {
        Cause::Malformed(odd.to_string()).into()
    }
}

fn is_wmi_error(object: &Instance) -> bool {
    object.class.eq_ignore_ascii_case(wmi_error::CLASS.name)
}

fn told_code(object: &Instance) -> Option<Cause> {
    let code = object.u32(wmi_error::ERROR_CODE.name).ok()?;
    let kind = object.text(wmi_error::ERROR_TYPE.name).ok()?;
    if kind.eq_ignore_ascii_case(wmi_error::error_type::WIN32.value) {
        return (code != 0).then_some(Cause::Win32(Win32(code)));
    }
    let is_hresult = kind.eq_ignore_ascii_case(wmi_error::error_type::HRESULT.value);
    (is_hresult && code & FAILED != 0).then(|| cause(Hresult(code)))
}

fn told_text(object: &Instance) -> Option<&str> {
    let of = |property| object.text(property).ok().filter(|text| !text.is_empty());
    of(wmi_error::MESSAGE.name).or_else(|| of(wmi_error::ERROR_WINDOWS_ERROR_MESSAGE.name))
}

/// The bit of an HRESULT that tells a failure.
const FAILED: u32 = 0x8000_0000;

/// The upper half of an HRESULT that holds a Win32 code.
const OF_WIN32: u32 = 0x8007_0000;

/// The first and the last code of RPC's own, which say that the call did not get through, and nothing
/// of the object: they stay what they are.
const OF_RPC: std::ops::RangeInclusive<u32> = 1700..=1999;

fn cause(code: Hresult) -> Cause {
    let low = code.0 & 0xFFFF;
    if code.0 & 0xFFFF_0000 == OF_WIN32 && !OF_RPC.contains(&low) {
        return Cause::Win32(Win32(low));
    }
    Cause::Hresult(code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use os::Cause;
    use os::Hresult;
    use os::Instance;
    use os::ObjectPath;
    use os::Value;
    use os::Win32;
    use os::schema::wmi_error;

    use super::Fault;

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

    fn fault(object: &Instance) -> Fault {
        Fault::new(
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
        for told in [object("MI", 4), object("WIN32", 0), object("HRESULT", 0)] {
            assert_eq!(fault(&told).cause, Cause::Hresult(Hresult::WBEM_E_FAILED));
        }
        let mut other = object("WIN32", 5);
        other.class = "Elsewhere".to_owned();
        assert_eq!(fault(&other).cause, Cause::Hresult(Hresult::WBEM_E_FAILED));
        assert_eq!(fault(&other).extended.as_deref(), Some("said"));
    }

    #[test]
    fn only_what_was_never_sent_counts_as_unsent() {
        let of = |code| Fault::new(Hresult(code), None, None);
        let gone = of(Hresult::RPC_S_SERVER_UNAVAILABLE.0);
        assert!(gone.is_lost() && gone.is_unsent());
        let cut = of(0x8007_06BE);
        assert!(cut.is_lost() && !cut.is_unsent());
        assert!(!of(Hresult::WBEM_E_NOT_FOUND.0).is_lost());
    }

    #[test]
    fn codes_of_rpc_stay_what_they_are() {
        let of = |code| Fault::new(Hresult(code), None, None).cause;
        assert_eq!(of(0x8007_0005), Cause::Win32(Win32::ACCESS_DENIED));
        let gone = Hresult::RPC_S_SERVER_UNAVAILABLE;
        assert_eq!(of(gone.0), Cause::Hresult(gone));
        assert_eq!(of(0x8004_1002), Cause::Hresult(Hresult::WBEM_E_NOT_FOUND));
    }
}
