//! The system's texts of its codes.

// UNSAFETY: a foreign function fills a buffer of ours, and gets its length.
#![expect(unsafe_code)]

use std::ptr;

use windows_sys::Win32::System::Diagnostics::Debug::{
    FORMAT_MESSAGE_FROM_SYSTEM, FORMAT_MESSAGE_IGNORE_INSERTS, FormatMessageW,
};

/// The system's text for a Win32 code or an HRESULT, in the language of the process's user, if there is one and it fits
/// the buffer. A text's inserts stay as written: their values are unknown.
///
/// <https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-formatmessagew>
pub(crate) fn text(code: u32, buffer: &mut [u16]) -> Option<&[u16]> {
    let room = u32::try_from(buffer.len()).ok()?;
    // SAFETY: the buffer is as long as we say and outlives the call; it reads no arguments because of the flag to
    // ignore inserts.
    let length = unsafe {
        FormatMessageW(
            FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
            ptr::null(),
            code,
            ANY_LANGUAGE,
            buffer.as_mut_ptr(),
            room,
            ptr::null(),
        )
    };
    let length = usize::try_from(length).ok()?;
    buffer.get(..length).filter(|text| !text.is_empty())
}

/// The languages of the thread, the user and the system, and then English, one after the other.
const ANY_LANGUAGE: u32 = 0;
