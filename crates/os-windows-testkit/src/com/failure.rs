//! Failures in COM's form.

// UNSAFETY: the thread's error object is set by a foreign function, and names come as pointers.
#![expect(unsafe_code)]

use os::Hresult;
use windows::Win32::Foundation::E_NOTIMPL;
use windows::Win32::System::Com::{IErrorInfo, IErrorInfo_Impl, SetErrorInfo};
use windows::core::{BSTR, Error, GUID, HRESULT, PCWSTR, Result, implement};

use super::object::Object;
use crate::ErrorInfo;
use crate::call::ComFailure;
use crate::held::{HeldCount, Token};

/// By the names in WMI's header; `os` has the codes that it uses by name.
pub(super) const INVALID_OBJECT_PATH: Hresult = Hresult(0x8004_103A);
pub(super) const INVALID_OPERATION: Hresult = Hresult(0x8004_1016);
pub(super) const INVALID_QUERY_TYPE: Hresult = Hresult(0x8004_1018);
pub(super) const PROVIDER_NOT_CAPABLE: Hresult = Hresult(0x8004_1024);

/// The code alone. The thread keeps an earlier call's error object, as COM does.
pub(super) fn refused(code: Hresult) -> Error {
    Error::from_hresult(HRESULT(code.0.cast_signed()))
}

pub(super) fn not_served<T>() -> Result<T> {
    Err(Error::from_hresult(E_NOTIMPL))
}

/// Leaves the failure's error object on the thread.
pub(super) fn failed(failure: ComFailure, held: &HeldCount) -> Error {
    let info: Option<IErrorInfo> = match failure.error_info {
        ErrorInfo::Nothing => None,
        ErrorInfo::Description(text) => Some(Description::new(text, held).into()),
        ErrorInfo::Object(instance) => match Object::answer(*instance, held) {
            Ok(object) => Some(object.into()),
            Err(error) => return error,
        },
    };
    // SAFETY: the object is whole, and the call takes a reference of its own.
    let set = unsafe { SetErrorInfo(0, info.as_ref()) };
    set.err().unwrap_or_else(|| refused(failure.code))
}

/// The text of a name passed in.
pub(super) fn text(name: &PCWSTR) -> Result<String> {
    if name.is_null() {
        return Err(refused(Hresult::WBEM_E_INVALID_PARAMETER));
    }
    // SAFETY: the caller passes a string with a NUL at its end.
    let text = unsafe { name.to_string() };
    text.map_err(|_| refused(Hresult::WBEM_E_INVALID_PARAMETER))
}

#[implement(IErrorInfo)]
struct Description {
    text: String,
    _held: Token,
}

impl Description {
    fn new(text: String, held: &HeldCount) -> Self {
        let _held = held.take();
        Self { text, _held }
    }
}

impl IErrorInfo_Impl for Description_Impl {
    fn GetGUID(&self) -> Result<GUID> {
        Ok(GUID::zeroed())
    }

    fn GetSource(&self) -> Result<BSTR> {
        not_served()
    }

    fn GetDescription(&self) -> Result<BSTR> {
        Ok(BSTR::from(&self.text))
    }

    fn GetHelpFile(&self) -> Result<BSTR> {
        not_served()
    }

    fn GetHelpContext(&self) -> Result<u32> {
        not_served()
    }
}
