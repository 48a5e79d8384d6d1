//! Enables a privilege that the process has, but not enabled.

// UNSAFETY: a handle and structures of ours go to foreign functions.
#![expect(unsafe_code)]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use os::Win32;
use windows_sys::Win32::Foundation::LUID;
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW,
    SE_CREATE_SYMBOLIC_LINK_NAME, SE_PRIVILEGE_ENABLED, TOKEN_ADJUST_PRIVILEGES, TOKEN_PRIVILEGES,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::outcome;

/// Turns on the privilege to make symbolic links, for the whole process, if its account has it. Whether it was on
/// counts when a file is opened ([MS-FSA] 2.1.5.1, `HasCreateSymbolicLinkAccess`). `CreateSymbolicLinkW` needs
/// none of this.
pub(crate) fn enable_symbolic_links() -> Result<(), Win32> {
    let mut luid = LUID::default();
    // SAFETY: the name is a constant with a NUL at its end, and the number is ours.
    outcome(unsafe {
        LookupPrivilegeValueW(ptr::null(), SE_CREATE_SYMBOLIC_LINK_NAME, &raw mut luid)
    })?;
    let wanted = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES {
            Luid: luid,
            Attributes: SE_PRIVILEGE_ENABLED,
        }],
    };
    let token = token()?;
    // SAFETY: the token is open, and the one privilege outlives the call; the earlier state may be null.
    outcome(unsafe {
        AdjustTokenPrivileges(
            token.as_raw_handle(),
            0,
            &raw const wanted,
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })
}

fn token() -> Result<OwnedHandle, Win32> {
    let mut token = ptr::null_mut();
    // SAFETY: the process's own handle is always valid, and the result is ours.
    outcome(unsafe {
        OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES, &raw mut token)
    })?;
    // SAFETY: the call succeeded, so the handle is open, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}
