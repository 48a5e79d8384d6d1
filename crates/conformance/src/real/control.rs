//! Control codes missing in safe libraries: where a disk's partitions are, as bytes, and reparse points from theirs.

// UNSAFETY: one call, with buffers of ours and their lengths.
#![expect(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::{io, ptr};

use os::{DiskNumber, Error, Win32, WinPath};
use windows_sys::Win32::Foundation::GetLastError;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES,
};
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{FSCTL_SET_REPARSE_POINT, IOCTL_DISK_GET_DRIVE_LAYOUT_EX};

/// Room for the header and 128 entries of 144 bytes, as many as a GPT usually has.
const ROOM: usize = 48 + 128 * 144;

/// The answer to `IOCTL_DISK_GET_DRIVE_LAYOUT_EX`, as far as the driver filled it.
///
/// Source: <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_get_drive_layout_ex>.
///
/// # Errors
/// The disk cannot be opened for reading, or does not answer; it has more than 128 partitions.
pub fn drive_layout(disk: DiskNumber) -> os::Result<Vec<u8>> {
    let path = format!(r"\\.\PhysicalDrive{disk}");
    let device = File::open(&path);
    let device = device.map_err(|error| Error::new("CreateFileW", &path, code(&error)))?;
    let mut answer = vec![0_u8; ROOM];
    let filled = control(&device, IOCTL_DISK_GET_DRIVE_LAYOUT_EX, &[], &mut answer);
    let filled = filled.map_err(|code| Error::new("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", path, code))?;
    answer.truncate(filled);
    Ok(answer)
}

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
    let set = control(&entry, FSCTL_SET_REPARSE_POINT, data, &mut []);
    set.map(drop)
        .map_err(|code| Error::new("FSCTL_SET_REPARSE_POINT", path, code))
}

/// Sends the code; returns how many bytes of the answer were filled.
fn control(device: &File, code: u32, data: &[u8], answer: &mut [u8]) -> Result<usize, Win32> {
    let lengths = [data.len(), answer.len()].map(u32::try_from);
    let [Ok(length), Ok(room)] = lengths else {
        return Err(Win32::INVALID_PARAMETER);
    };
    let mut filled = 0;
    // SAFETY: the handle is open and not overlapped, and both buffers are as long as we say.
    let done = unsafe {
        DeviceIoControl(
            device.as_raw_handle(),
            code,
            data.as_ptr().cast(),
            length,
            answer.as_mut_ptr().cast(),
            room,
            &raw mut filled,
            ptr::null_mut(),
        )
    };
    match done {
        // SAFETY: the function has no preconditions.
        0 => Err(Win32(unsafe { GetLastError() })),
        _ => Ok(usize::try_from(filled).unwrap_or(answer.len())),
    }
}

/// The code in an error of the standard library's.
pub(crate) fn code(error: &io::Error) -> Win32 {
    let code = error.raw_os_error().map(u32::try_from);
    code.and_then(Result::ok).map_or(Win32::GEN_FAILURE, Win32)
}
