//! The system's texts of its codes.

// UNSAFETY: a foreign function fills a buffer of ours whose length it is told.
#![expect(unsafe_code)]

use std::ptr;

use windows_sys::Win32::System::Diagnostics::Debug::{
    FORMAT_MESSAGE_FROM_SYSTEM, FORMAT_MESSAGE_IGNORE_INSERTS, FormatMessageW,
};

/// What the system says of a Win32 code or an HRESULT, in the language of the process's user, if it says
/// anything in at most so many units as the buffer has. A text's inserts stay as they are written: nobody
/// has their values.
///
/// <https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-formatmessagew>
pub(crate) fn text(code: u32, buffer: &mut [u16]) -> Option<&[u16]> {
    let room = u32::try_from(buffer.len()).ok()?;
    // SAFETY: the buffer is as long as we say and outlives the call, which reads no arguments because it
    // is told to leave inserts alone.
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
