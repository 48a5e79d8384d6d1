//! `MSFT_WmiError`: the object that stands behind a call of an SMB class that failed.
//!
//! It is not returned: it is the thread's error object, fetched after the call.

use super::cim::CimType::{String, Uint16, Uint32};
use super::extended_status;
use super::model::{Class, NamedText, Namespace, Property, Source, text};

/// Written for another provider, of the same class.
const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/ramgmtpsprov/msft-wmierror",
);
const ERROR_TYPE_PAGE: Source = Source::Unverified(
    "the page names no values; these are the MI_RESULT_TYPE_ texts of mi.h in the Windows SDK, \
     which MI providers put there",
);

/// The kind of number in [`ERROR_CODE`].
pub mod error_type {
    use super::*;

    rows! { VALUES: NamedText {
        MI = text("MI", "MI_Result");
        HRESULT = text("HRESULT", "HRESULT");
        WIN32 = text("WIN32", "Win32 error");
        ERRNO = text("ERRNO", "errno");
    }}
}

rows! { PROPERTIES: Property {
    ERROR_CODE = Property::new("error_Code", Uint32, PAGE).required();
    ERROR_CATEGORY = Property::new("error_Category", Uint16, PAGE);
    ERROR_TYPE = Property::new("error_Type", String, ERROR_TYPE_PAGE).texts(error_type::VALUES);
    /// The text for people, in the system's language.
    ERROR_WINDOWS_ERROR_MESSAGE = Property::new("error_WindowsErrorMessage", String, PAGE);
    MESSAGE = extended_status::MESSAGE;
    /// Taken to be `Windows System Error` and a code, as PowerShell names such failures: unverified.
    MESSAGE_ID = extended_status::MESSAGE_ID;
    CIM_STATUS_CODE = extended_status::CIM_STATUS_CODE;
    CIM_STATUS_CODE_DESCRIPTION = extended_status::CIM_STATUS_CODE_DESCRIPTION;
}}

/// Derives from the `CIM_Error` of its own namespace; here are only its meaningful properties.
pub static CLASS: Class = Class {
    name: "MSFT_WmiError",
    namespace: Namespace::Smb,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
