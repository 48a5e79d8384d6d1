//! The kernel's answer to where a disk's partitions are, as bytes.

// UNSAFETY: one control code; no safe library shows its raw answer.
#![expect(unsafe_code)]

use std::fs::File;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use os::{DiskNumber, Error, Win32};
use windows_sys::Win32::Foundation::GetLastError;
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::IOCTL_DISK_GET_DRIVE_LAYOUT_EX;

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
    let device =
        File::open(&path).map_err(|error| Error::new("CreateFileW", &path, code(&error)))?;
    let mut answer = vec![0_u8; ROOM];
    let mut filled = 0;
    // SAFETY: the handle is open and not overlapped, and the buffer is as long as we say.
    let done = unsafe {
        DeviceIoControl(
            device.as_raw_handle(),
            IOCTL_DISK_GET_DRIVE_LAYOUT_EX,
            ptr::null(),
            0,
            answer.as_mut_ptr().cast(),
            u32::try_from(ROOM).unwrap_or(u32::MAX),
            &raw mut filled,
            ptr::null_mut(),
        )
    };
    if done == 0 {
        // SAFETY: the function has no preconditions.
        let code = Win32(unsafe { GetLastError() });
        return Err(Error::new("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", path, code));
    }
    answer.truncate(usize::try_from(filled).unwrap_or(ROOM));
    Ok(answer)
}

fn code(error: &std::io::Error) -> Win32 {
    let code = error.raw_os_error().map(u32::try_from);
    code.and_then(Result::ok).map_or(Win32::GEN_FAILURE, Win32)
}
