//! Reparse points, from their bytes.

// UNSAFETY: one control code, missing in safe libraries.
#![expect(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use os::{Error, Win32, WinPath};
use windows_sys::Win32::Foundation::GetLastError;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES,
};
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::FSCTL_SET_REPARSE_POINT;

/// Makes an existing file or directory a reparse point, from its `REPARSE_DATA_BUFFER` or
/// `REPARSE_GUID_DATA_BUFFER`.
///
/// Source: <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_set_reparse_point>.
///
/// # Errors
/// The entry cannot be opened for writing, or its filesystem keeps no reparse points.
pub fn set_reparse_point(path: &WinPath, data: &[u8]) -> os::Result<()> {
    set_by(OpenOptions::new().write(true), path, data)
}

/// As [`set_reparse_point`], by the right to write attributes alone: [MS-FSA] 2.1.5.10.37 calls this enough, and other
/// handles' sharing does not block it.
///
/// # Errors
/// The entry cannot be opened for writing attributes, or is a non-empty directory.
pub fn become_reparse_point(directory: &WinPath, data: &[u8]) -> os::Result<()> {
    set_by(
        OpenOptions::new().access_mode(FILE_WRITE_ATTRIBUTES),
        directory,
        data,
    )
}

fn set_by(options: &mut OpenOptions, path: &WinPath, data: &[u8]) -> os::Result<()> {
    let opened = options
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path.to_verbatim());
    let entry = opened.map_err(|error| Error::new("CreateFileW", path, code(&error)))?;
    set(&entry, data).map_err(|code| Error::new("FSCTL_SET_REPARSE_POINT", path, code))
}

fn set(entry: &File, data: &[u8]) -> Result<(), Win32> {
    let length = u32::try_from(data.len()).map_err(|_| Win32::INVALID_PARAMETER)?;
    let mut returned = 0;
    // SAFETY: the handle is open and not overlapped, and the data is as long as we say.
    let answer = unsafe {
        DeviceIoControl(
            entry.as_raw_handle(),
            FSCTL_SET_REPARSE_POINT,
            data.as_ptr().cast(),
            length,
            ptr::null_mut(),
            0,
            &raw mut returned,
            ptr::null_mut(),
        )
    };
    if answer == 0 {
        // SAFETY: the function has no preconditions.
        return Err(Win32(unsafe { GetLastError() }));
    }
    Ok(())
}

fn code(error: &std::io::Error) -> Win32 {
    let code = error.raw_os_error().map(u32::try_from);
    code.and_then(Result::ok).map_or(Win32::GEN_FAILURE, Win32)
}
