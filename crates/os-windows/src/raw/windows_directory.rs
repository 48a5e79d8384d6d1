//! Windows's directory.

// UNSAFETY: a foreign function fills a buffer of ours, and gets its length.
#![expect(unsafe_code)]

use std::ffi::OsString;

use os::Win32;
use windows_sys::Win32::System::SystemInformation::GetSystemWindowsDirectoryW;

use super::last_error;
use crate::wide;

/// Units of room: more than `MAX_PATH` and any path's length.
const ROOM: usize = 0x8000;

/// The directory of `%SystemRoot%` in the system's own settings.
///
/// <https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemwindowsdirectoryw>
pub(crate) fn path() -> Result<OsString, Win32> {
    let mut units = vec![0_u16; ROOM];
    let room = u32::try_from(ROOM).map_err(|_| Win32::MORE_DATA)?;
    // SAFETY: the buffer is as long as we say.
    match unsafe { GetSystemWindowsDirectoryW(units.as_mut_ptr(), room) } {
        0 => Err(last_error()),
        length if length >= room => Err(Win32::MORE_DATA),
        _ => Ok(wide::text(&units)),
    }
}
