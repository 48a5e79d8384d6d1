//! Facts of the machine and of this process.

// UNSAFETY: foreign functions fill buffers of ours, get their lengths, and return a token that closes itself here.
#![expect(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use os::{Error, Win32};
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::GetLastError;
use windows_sys::Win32::Security::{
    GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation,
};
use windows_sys::Win32::Storage::FileSystem::GetLogicalDrives;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows_sys::Win32::System::WindowsProgramming::GetComputerNameW;
use windows_sys::core::{BOOL, w};

use super::wide;

/// Wine's version, if this is Wine: from a function of `ntdll` that Windows lacks.
#[must_use]
pub fn wine_version() -> Option<String> {
    type Version = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: both texts end in a NUL, and the module is part of every process.
    let found = unsafe {
        let library = GetModuleHandleW(w!("ntdll.dll"));
        GetProcAddress(library, c"wine_get_version".as_ptr().cast())
    }?;
    // SAFETY: under this name Wine exports a function of this form, and its text is static.
    let text = unsafe {
        let version: Version = std::mem::transmute(found);
        CStr::from_ptr(version())
    };
    Some(text.to_string_lossy().into_owned())
}

/// The number of the system's build: 17763 of Windows Server 2019, 20348 of 2022, 26100 of 2025. Other than
/// `GetVersionExW` this does not depend on the program's manifest; it always succeeds.
///
/// Source: <https://learn.microsoft.com/windows/win32/devnotes/rtlgetversion>.
#[must_use]
pub fn windows_build() -> u32 {
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: u32::try_from(size_of::<OSVERSIONINFOW>()).unwrap_or(u32::MAX),
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the structure is ours, of the size in it.
    unsafe { RtlGetVersion(&raw mut version) };
    version.dwBuildNumber
}

/// Whether this process has an administrator's full rights.
///
/// The class needs `TOKEN_QUERY` and fills one number, nonzero for such a token.
///
/// Sources: <https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-token_elevation>,
/// <https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-gettokeninformation>.
///
/// # Errors
/// The process's token cannot be read.
pub fn is_elevated() -> os::Result<bool> {
    let failed = |code| Error::new("GetTokenInformation", "this process", code);
    let token = token().map_err(failed)?;
    let mut elevation = TOKEN_ELEVATION::default();
    let size = u32::try_from(size_of::<TOKEN_ELEVATION>()).unwrap_or(u32::MAX);
    let mut filled = 0;
    // SAFETY: the token is open, and the class fills a structure of exactly this type and size.
    outcome(unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenElevation,
            ptr::from_mut(&mut elevation).cast(),
            size,
            &raw mut filled,
        )
    })
    .map_err(failed)?;
    Ok(elevation.TokenIsElevated != 0)
}

/// The unused drive letter nearest to Z.
#[must_use]
pub fn free_drive() -> Option<char> {
    // SAFETY: the function has no preconditions.
    let taken = unsafe { GetLogicalDrives() };
    ('D'..='Z')
        .zip(3_u32..)
        .filter(|(_, bit)| taken & (1 << bit) == 0)
        .map(|(letter, _)| letter)
        .last()
}

/// The machine's NetBIOS name.
///
/// # Errors
/// The system does not say.
pub fn computer_name() -> os::Result<String> {
    // MAX_COMPUTERNAME_LENGTH is 15.
    let mut units = [0_u16; 64];
    let mut length = 64;
    // SAFETY: the buffer is as long as we say.
    outcome(unsafe { GetComputerNameW(units.as_mut_ptr(), &raw mut length) })
        .map_err(|code| Error::new("GetComputerNameW", "this machine", code))?;
    Ok(wide::text(&units))
}

fn token() -> Result<OwnedHandle, Win32> {
    let mut token = ptr::null_mut();
    // SAFETY: the pseudo handle of the process is always valid, and the output is ours.
    outcome(unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) })?;
    // SAFETY: the call succeeded, so the handle is open, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

fn outcome(answer: BOOL) -> Result<(), Win32> {
    if answer == 0 {
        // SAFETY: the function has no preconditions.
        return Err(Win32(unsafe { GetLastError() }));
    }
    Ok(())
}
