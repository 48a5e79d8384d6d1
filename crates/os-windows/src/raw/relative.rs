//! Entries of a directory by the directory's handle: no change of a path can lead these calls
//! elsewhere. Rust's `remove_dir_all` uses the same calls (CVE-2022-21658).

// UNSAFETY: handles and names of ours go to foreign functions; these return handles.
#![expect(unsafe_code)]

use std::ffi::OsStr;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use os::{FileAttributes, Win32};
use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN,
    FILE_OPEN_FOR_BACKUP_INTENT, FILE_OPEN_REPARSE_POINT, FILE_RENAME_INFORMATION,
    FILE_SYNCHRONOUS_IO_NONALERT, FileRenameInformation, NtCreateFile, NtSetInformationFile,
};
use windows_sys::Win32::Foundation::{
    HANDLE, OBJ_CASE_INSENSITIVE, OBJ_DONT_REPARSE, RtlNtStatusToDosError, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_NORMAL, FILE_BASIC_INFO, FILE_DISPOSITION_FLAG_DELETE,
    FILE_DISPOSITION_FLAG_POSIX_SEMANTICS, FILE_DISPOSITION_INFO, FILE_DISPOSITION_INFO_EX,
    FILE_INFO_BY_HANDLE_CLASS, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES, FileBasicInfo, FileDispositionInfo,
    FileDispositionInfoEx, SYNCHRONIZE, SetFileInformationByHandle,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use super::outcome;

/// The purpose of an open entry. A link is opened as an entry in each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To change its attributes.
    ChangeAttributes,
    /// To make a directory of this new name.
    CreateDirectory,
    /// To hold it in place: nobody may open it for deletion.
    Hold,
    /// To remove it.
    Remove,
    /// To make a directory of this new name, and to hold it: others may only read in it.
    ReserveDirectory,
    /// Likewise, a file.
    ReserveFile,
}

impl Purpose {
    fn access(self) -> u32 {
        let for_that = match self {
            Self::ChangeAttributes => FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
            Self::CreateDirectory | Self::Hold => FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES,
            Self::Remove => DELETE | FILE_READ_ATTRIBUTES,
            Self::ReserveDirectory | Self::ReserveFile => DELETE | FILE_WRITE_ATTRIBUTES,
        };
        for_that | SYNCHRONIZE
    }

    fn share(self) -> u32 {
        let read_write = FILE_SHARE_READ | FILE_SHARE_WRITE;
        match self {
            Self::Hold => read_write,
            Self::ReserveDirectory | Self::ReserveFile => FILE_SHARE_READ,
            _ => read_write | FILE_SHARE_DELETE,
        }
    }

    fn disposition(self) -> u32 {
        match self {
            Self::CreateDirectory | Self::ReserveDirectory | Self::ReserveFile => FILE_CREATE,
            _ => FILE_OPEN,
        }
    }

    fn options(self) -> u32 {
        let always =
            FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT;
        match self {
            Self::CreateDirectory | Self::ReserveDirectory => always | FILE_DIRECTORY_FILE,
            Self::ReserveFile => always | FILE_NON_DIRECTORY_FILE,
            _ => always,
        }
    }
}

/// Opens or creates one entry of a directory (`NtCreateFile` with a root directory). No reparse point
/// is followed on the way, the directory itself included, should it be one by now
/// (`OBJ_DONT_REPARSE`, Windows Server 2016 and later).
///
/// <https://learn.microsoft.com/windows/win32/api/ntdef/ns-ntdef-_object_attributes>
pub(crate) fn open(
    directory: &OwnedHandle,
    name: &OsStr,
    purpose: Purpose,
) -> Result<OwnedHandle, Win32> {
    let mut units: Vec<u16> = name.encode_wide().collect();
    let length = u16::try_from(units.len() * 2).map_err(|_| Win32::FILENAME_EXCED_RANGE)?;
    let object_name = UNICODE_STRING {
        Length: length,
        MaximumLength: length,
        Buffer: units.as_mut_ptr(),
    };
    let attributes = OBJECT_ATTRIBUTES {
        Length: super::handle::size_of_u32::<OBJECT_ATTRIBUTES>(),
        RootDirectory: directory.as_raw_handle(),
        ObjectName: &raw const object_name,
        Attributes: OBJ_CASE_INSENSITIVE | OBJ_DONT_REPARSE,
        ..OBJECT_ATTRIBUTES::default()
    };
    let mut handle = ptr::null_mut();
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: the name, the attributes that point to it, and both results outlive the call, synchronous by its options;
    // the directory is open; the other pointers may be null.
    let answer = unsafe {
        NtCreateFile(
            &raw mut handle,
            purpose.access(),
            &raw const attributes,
            &raw mut status,
            ptr::null(),
            FILE_ATTRIBUTE_NORMAL,
            purpose.share(),
            purpose.disposition(),
            purpose.options(),
            ptr::null(),
            0,
        )
    };
    if answer < 0 {
        // SAFETY: the function translates a number.
        return Err(Win32(unsafe { RtlNtStatusToDosError(answer) }));
    }
    // SAFETY: the call succeeded, so the handle is open, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Gives an entry another, unused name in this directory (`NtSetInformationFile`). Win32's own form of this call would
/// read the name against the process's current directory.
///
/// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information>
pub(crate) fn rename(
    entry: &OwnedHandle,
    directory: &OwnedHandle,
    name: &OsStr,
) -> Result<(), Win32> {
    let wanted = Renaming::to(directory, name)?;
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: both handles are open, and the structure, laid out for the class, outlives the call, synchronous as the
    // entry was opened so.
    let answer = unsafe {
        NtSetInformationFile(
            entry.as_raw_handle(),
            &raw mut status,
            ptr::from_ref(&wanted).cast(),
            super::handle::size_of_u32::<Renaming>(),
            FileRenameInformation,
        )
    };
    match answer {
        0.. => Ok(()),
        // SAFETY: the function translates a number.
        failed => Err(Win32(unsafe { RtlNtStatusToDosError(failed) })),
    }
}

/// NTFS has no longer names.
const LONGEST_NAME: usize = 255;

/// `FILE_RENAME_INFORMATION` with room for a name.
#[repr(C)]
struct Renaming {
    replace_if_exists: u32,
    root_directory: HANDLE,
    length: u32,
    name: [u16; LONGEST_NAME],
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Renaming, name) == offset_of!(FILE_RENAME_INFORMATION, FileName));
};

impl Renaming {
    fn to(directory: &OwnedHandle, name: &OsStr) -> Result<Self, Win32> {
        let units: Vec<u16> = name.encode_wide().collect();
        let mut wanted = Self {
            replace_if_exists: 0,
            root_directory: directory.as_raw_handle(),
            length: u32::try_from(units.len() * 2).map_err(|_| Win32::FILENAME_EXCED_RANGE)?,
            name: [0; LONGEST_NAME],
        };
        let room = wanted.name.get_mut(..units.len());
        room.ok_or(Win32::FILENAME_EXCED_RANGE)?
            .copy_from_slice(&units);
        Ok(wanted)
    }
}

/// Deletes a handle's entry, at once if the filesystem can, else when its last handle closes.
pub(crate) fn delete(entry: &OwnedHandle) -> Result<(), Win32> {
    let at_once = FILE_DISPOSITION_INFO_EX {
        Flags: FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
    };
    match set(entry, FileDispositionInfoEx, &at_once) {
        Err(
            Win32::INVALID_PARAMETER
            | Win32::INVALID_FUNCTION
            | Win32::NOT_SUPPORTED
            | Win32::CALL_NOT_IMPLEMENTED,
        ) => set(
            entry,
            FileDispositionInfo,
            &FILE_DISPOSITION_INFO { DeleteFile: true },
        ),
        outcome => outcome,
    }
}

/// Sets the attributes of a handle's entry; zeros keep its times.
pub(crate) fn set_attributes(entry: &OwnedHandle, wanted: FileAttributes) -> Result<(), Win32> {
    let info = FILE_BASIC_INFO {
        FileAttributes: wanted.0,
        ..FILE_BASIC_INFO::default()
    };
    set(entry, FileBasicInfo, &info)
}

/// `SetFileInformationByHandle` with the structure of a class. The pairs are written above, and
/// nowhere else.
fn set<T>(entry: &OwnedHandle, class: FILE_INFO_BY_HANDLE_CLASS, info: &T) -> Result<(), Win32> {
    // SAFETY: the handle is open, and the structure is of this size and outlives the call.
    outcome(unsafe {
        SetFileInformationByHandle(
            entry.as_raw_handle(),
            class,
            ptr::from_ref(info).cast(),
            super::handle::size_of_u32::<T>(),
        )
    })
}
