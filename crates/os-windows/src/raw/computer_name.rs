//! The machine's name.

// UNSAFETY: a foreign function fills a buffer of ours, and gets its length.
#![expect(unsafe_code)]

use std::ffi::OsString;

use os::Win32;
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW,
};

use super::outcome;
use crate::wide;

/// Units of room: a label of DNS has 63 characters at most.
const ROOM: usize = 256;

/// The DNS host name of the machine itself, also where it is a node of a cluster.
///
/// <https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getcomputernameexw>
pub(crate) fn dns_host() -> Result<OsString, Win32> {
    let mut units = [0_u16; ROOM];
    let mut room = u32::try_from(ROOM).map_err(|_| Win32::MORE_DATA)?;
    // SAFETY: the buffer is as long as we say.
    outcome(unsafe {
        GetComputerNameExW(
            ComputerNamePhysicalDnsHostname,
            units.as_mut_ptr(),
            &raw mut room,
        )
    })?;
    Ok(wide::text(&units))
}
