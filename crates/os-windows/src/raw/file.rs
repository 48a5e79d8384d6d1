//! Calls on files and directories by name.

// UNSAFETY: foreign functions read paths of ours and fill a structure of ours.
#![expect(unsafe_code)]

use std::ptr;

use os::{FileAttributes, Win32};
use windows_sys::Win32::Storage::FileSystem::{
    CreateDirectoryW, DeleteFileW, GetFileAttributesExW, GetFileExInfoStandard, RemoveDirectoryW,
    SetFileAttributesW, WIN32_FILE_ATTRIBUTE_DATA,
};

use super::{last_error, outcome};
use crate::wide::Wide;

/// The attributes and the size of an entry, or of a link as an entry (`GetFileAttributesExW`).
pub(crate) fn attributes(path: &Wide) -> Result<(FileAttributes, u64), Win32> {
    let mut data = WIN32_FILE_ATTRIBUTE_DATA::default();
    // SAFETY: the path ends in a NUL, and the level fills a structure of exactly this type.
    outcome(unsafe {
        GetFileAttributesExW(
            path.as_ptr(),
            GetFileExInfoStandard,
            ptr::from_mut(&mut data).cast(),
        )
    })?;
    let size = u64::from(data.nFileSizeHigh) << 32 | u64::from(data.nFileSizeLow);
    Ok((FileAttributes(data.dwFileAttributes), size))
}

/// `SetFileAttributesW`.
pub(crate) fn set_attributes(path: &Wide, attributes: FileAttributes) -> Result<(), Win32> {
    // SAFETY: the path ends in a NUL.
    outcome(unsafe { SetFileAttributesW(path.as_ptr(), attributes.0) })
}

/// `CreateDirectoryW`, with the parent's security.
pub(crate) fn create_directory(path: &Wide) -> Result<(), Win32> {
    // SAFETY: the path ends in a NUL, and the security attributes may be null.
    outcome(unsafe { CreateDirectoryW(path.as_ptr(), ptr::null()) })
}

/// `RemoveDirectoryW`.
pub(crate) fn remove_directory(path: &Wide) -> Result<(), Win32> {
    // SAFETY: the path ends in a NUL.
    outcome(unsafe { RemoveDirectoryW(path.as_ptr()) })
}

/// `DeleteFileW`.
pub(crate) fn remove_file(path: &Wide) -> Result<(), Win32> {
    // SAFETY: the path ends in a NUL.
    outcome(unsafe { DeleteFileW(path.as_ptr()) })
}

/// `CreateSymbolicLinkW`.
pub(crate) fn create_symlink(link: &Wide, target: &Wide, flags: u32) -> Result<(), Win32> {
    // SAFETY: both texts end in a NUL.
    let created = unsafe { CreateSymbolicLinkW(link.as_ptr(), target.as_ptr(), flags) };
    if created == 0 {
        return Err(last_error());
    }
    Ok(())
}

// The bindings have `bool`, but the call returns a BOOLEAN: any byte but zero is success, and a
// Rust bool other than 0 and 1 is undefined behaviour.
#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateSymbolicLinkW(link: *const u16, target: *const u16, flags: u32) -> u8;
}
