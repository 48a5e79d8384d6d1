//! Handles on files, directories, volumes and disks.

// UNSAFETY: handles come from and go to foreign functions; these read and fill buffers of ours.
#![expect(unsafe_code)]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use os::{FileAttributes, ReparseTag, Win32};
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, DELETE, FILE_ATTRIBUTE_TAG_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES, FileAttributeTagInfo,
    FlushFileBuffers, GetFileInformationByHandleEx, OPEN_EXISTING, READ_CONTROL, WRITE_DAC,
};
use windows_sys::Win32::System::IO::DeviceIoControl;

use super::{last_error, outcome};
use crate::wide::Wide;

/// The purpose of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To query a disk, or the device behind a volume. Needs no access and blocks nobody.
    AskDevice,
    /// To change the reparse point of an entry. Blocks nobody.
    ChangeLink,
    /// To change a volume or a disk as a whole.
    ChangeDevice,
    /// To change an entry's access list. Blocks nobody.
    ChangeRights,
    /// To hold a directory, or a link as an entry, in place: nobody may open it for deletion.
    HoldEntry,
    /// To read an entry, or a link as an entry. Blocks nobody.
    LookAtEntry,
    /// To read a path's target. Blocks nobody.
    LookAtTarget,
    /// To read an entry's access list. Blocks nobody.
    LookAtRights,
    /// To remove an entry, or a link as an entry. Blocks nobody.
    RemoveEntry,
    /// To read from a disk, or for queries that need read access.
    ReadDevice,
}

impl Purpose {
    fn access(self) -> u32 {
        match self {
            Self::AskDevice => 0,
            Self::ChangeDevice => GENERIC_READ | GENERIC_WRITE,
            Self::ChangeLink => FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
            Self::ChangeRights => FILE_READ_ATTRIBUTES | READ_CONTROL | WRITE_DAC,
            Self::HoldEntry => FILE_LIST_DIRECTORY,
            Self::LookAtEntry | Self::LookAtTarget => FILE_READ_ATTRIBUTES,
            Self::LookAtRights => FILE_READ_ATTRIBUTES | READ_CONTROL,
            Self::ReadDevice => GENERIC_READ,
            Self::RemoveEntry => DELETE | FILE_READ_ATTRIBUTES,
        }
    }

    fn share(self) -> u32 {
        let read_write = FILE_SHARE_READ | FILE_SHARE_WRITE;
        match self {
            Self::AskDevice | Self::ChangeDevice | Self::HoldEntry | Self::ReadDevice => read_write,
            Self::ChangeLink
            | Self::ChangeRights
            | Self::LookAtEntry
            | Self::LookAtRights
            | Self::LookAtTarget
            | Self::RemoveEntry => read_write | FILE_SHARE_DELETE,
        }
    }

    /// Only backup semantics allow opening a directory.
    fn flags(self) -> u32 {
        match self {
            Self::AskDevice | Self::ChangeDevice | Self::ReadDevice => 0,
            Self::ChangeLink
            | Self::ChangeRights
            | Self::HoldEntry
            | Self::LookAtEntry
            | Self::LookAtRights
            | Self::RemoveEntry => FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT,
            Self::LookAtTarget => FILE_FLAG_BACKUP_SEMANTICS,
        }
    }
}

/// Opens an existing entry (`CreateFileW`).
pub(crate) fn open(path: &Wide, purpose: Purpose) -> Result<OwnedHandle, Win32> {
    // SAFETY: the path ends in a NUL and outlives the call; the other pointers may be null.
    let handle = unsafe {
        CreateFileW(
            path.as_ptr(),
            purpose.access(),
            purpose.share(),
            ptr::null(),
            OPEN_EXISTING,
            purpose.flags(),
            ptr::null_mut(),
        )
    };
    if handle == INVALID_HANDLE_VALUE {
        return Err(last_error());
    }
    // SAFETY: the call succeeded, so the handle is open, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The attributes behind a handle.
pub(crate) fn attributes(handle: &OwnedHandle) -> Result<FileAttributes, Win32> {
    Ok(tagged(handle)?.0)
}

/// The attributes behind a handle, and the tag of a reparse point (`GetFileInformationByHandleEx`).
pub(crate) fn tagged(handle: &OwnedHandle) -> Result<(FileAttributes, Option<ReparseTag>), Win32> {
    let mut info = FILE_ATTRIBUTE_TAG_INFO::default();
    // SAFETY: the handle is open, and the class fills a structure of exactly this type and size.
    outcome(unsafe {
        GetFileInformationByHandleEx(
            handle.as_raw_handle(),
            FileAttributeTagInfo,
            ptr::from_mut(&mut info).cast(),
            size_of_u32::<FILE_ATTRIBUTE_TAG_INFO>(),
        )
    })?;
    let attributes = FileAttributes(info.FileAttributes);
    let is_reparse_point = attributes.contains(FileAttributes::REPARSE_POINT);
    let tag = is_reparse_point.then_some(ReparseTag(info.ReparseTag));
    Ok((attributes, tag))
}

/// Sends a control code, and returns how much of `output` was filled (`DeviceIoControl`).
pub(crate) fn control(
    handle: &OwnedHandle,
    code: u32,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize, Win32> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| Win32::INVALID_PARAMETER);
    let (input_length, output_length) = (length(input)?, length(output)?);
    let mut filled = 0;
    // SAFETY: both buffers are as long as we say and outlive the call; it is not overlapped: the
    // handle was opened without that flag.
    outcome(unsafe {
        DeviceIoControl(
            handle.as_raw_handle(),
            code,
            input.as_ptr().cast(),
            input_length,
            output.as_mut_ptr().cast(),
            output_length,
            &raw mut filled,
            ptr::null_mut(),
        )
    })?;
    usize::try_from(filled).map_err(|_| Win32::INVALID_PARAMETER)
}

/// Writes out the cache behind a handle (`FlushFileBuffers`).
pub(crate) fn flush(handle: &OwnedHandle) -> Result<(), Win32> {
    // SAFETY: the handle is open.
    outcome(unsafe { FlushFileBuffers(handle.as_raw_handle()) })
}

pub(crate) fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}
