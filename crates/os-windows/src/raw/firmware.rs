//! The firmware's tables.

// UNSAFETY: a foreign function fills a buffer of ours, and gets its length.
#![expect(unsafe_code)]

use os::Win32;
use windows_sys::Win32::System::SystemInformation::{GetSystemFirmwareTable, RSMB};

use super::last_error;

/// Fills `buffer` with the SMBIOS table and returns its length; if that is more than the buffer's,
/// the buffer has nothing of it.
///
/// <https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable>
pub(crate) fn smbios(buffer: &mut [u8]) -> Result<usize, Win32> {
    let room = u32::try_from(buffer.len()).map_err(|_| Win32::INVALID_PARAMETER)?;
    // SAFETY: the buffer is as long as we say and outlives the call.
    let length = unsafe { GetSystemFirmwareTable(RSMB, 0, buffer.as_mut_ptr(), room) };
    match length {
        0 => Err(last_error()),
        length => usize::try_from(length).map_err(|_| Win32::MORE_DATA),
    }
}
