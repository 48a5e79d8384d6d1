//! A failed call's code, and its error object on the thread.

// UNSAFETY: the error object is borrowed from its owning error, and read by foreign functions.
#![expect(unsafe_code)]

use automation::WmiError;
use os::Hresult;
use windows::Win32::System::Com::{IErrorInfo, SetErrorInfo};
use windows::Win32::System::Wmi::IWbemClassObject;
use windows::core::{Error, HRESULT, IUnknown, Interface};

use super::ClassObject;

/// The only conversion of COM's error to ours.
pub(super) fn fault(error: Error) -> WmiError {
    let code = Hresult(error.code().0.cast_unsigned());
    let raw = error.as_ptr();
    // SAFETY: the pointer is null or an interface that `error` owns, and `error` outlives its use.
    let unknown = unsafe { IUnknown::from_raw_borrowed(&raw) };
    let description = unknown.and_then(description);
    let object = unknown
        .and_then(|unknown| unknown.cast::<IWbemClassObject>().ok())
        .map(ClassObject::new)
        .and_then(|object| object.error().ok());
    WmiError::new(code, description, object.as_ref())
}

/// Whether a call with this code failed.
pub(super) fn is_failure(code: HRESULT) -> bool {
    Hresult(code.0.cast_unsigned()).is_failure()
}

/// A code received as data, with the thread's error object.
pub(super) fn fault_of(code: HRESULT) -> WmiError {
    fault(Error::from(code))
}

/// Takes an earlier call's error object from this thread, so no later failure gets its text
/// (`SetErrorInfo`).
pub(super) fn forget_earlier() {
    // SAFETY: no preconditions; null clears the thread's error object. It cannot fail with that.
    drop(unsafe { SetErrorInfo(0, None) });
}

fn description(unknown: &IUnknown) -> Option<String> {
    let info: IErrorInfo = unknown.cast().ok()?;
    // SAFETY: the interface is alive.
    let text = unsafe { info.GetDescription() }.ok()?;
    Some(String::from_utf16_lossy(&text).trim_end().to_owned())
}
