//! The file of a handle, and the files of a directory.

// UNSAFETY: foreign functions fill structures and buffers of ours, and get their length.
#![expect(unsafe_code)]

use std::mem::offset_of;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;

use formats::directory::{self, Entry, FileId, Form};
use os::Win32;
use windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ID_BOTH_DIR_INFO, FILE_ID_EXTD_DIR_INFO, FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS,
    FileIdBothDirectoryInfo, FileIdBothDirectoryRestartInfo, FileIdExtdDirectoryInfo,
    FileIdExtdDirectoryRestartInfo, FileIdInfo, GetFileInformationByHandleEx,
};

use super::{handle, outcome};

/// Distinguishes a file from all others of a machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    /// The serial number of its volume.
    pub(crate) volume: u64,
    /// Its volume's identifier for it.
    pub(crate) file: FileId,
}

/// The identity of a handle's file (`FILE_ID_INFO`, Windows Server 2012 and later).
///
/// <https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_id_info>
///
/// # Errors
/// [`Win32::NOT_SUPPORTED`] for a filesystem without ids.
pub(crate) fn of(handle: &OwnedHandle) -> Result<Identity, Win32> {
    let mut info = FILE_ID_INFO::default();
    // SAFETY: the handle is open, and the class fills a structure of exactly this type and size.
    outcome(unsafe {
        GetFileInformationByHandleEx(
            handle.as_raw_handle(),
            FileIdInfo,
            ptr::from_mut(&mut info).cast(),
            handle::size_of_u32::<FILE_ID_INFO>(),
        )
    })?;
    let file = FileId::new(&info.FileId.Identifier);
    Ok(Identity {
        volume: info.VolumeSerialNumber,
        file: file.ok_or(Win32::NOT_SUPPORTED)?,
    })
}

/// The entries of a handle's directory, by the handle: even if its path leads elsewhere by now or the directory
/// changed. A filesystem without ids of 128 bits lists its own ids.
pub(crate) fn listed(directory: &OwnedHandle) -> Result<Vec<Entry>, Win32> {
    match EXTENDED.list(directory) {
        Err(Win32::INVALID_PARAMETER | Win32::NOT_SUPPORTED) => BOTH.list(directory),
        done => done,
    }
}

/// How a directory is listed.
struct Listing {
    form: Form,
    first: FILE_INFO_BY_HANDLE_CLASS,
    next: FILE_INFO_BY_HANDLE_CLASS,
}

const EXTENDED: Listing = Listing {
    form: Form::EXTENDED,
    first: FileIdExtdDirectoryRestartInfo,
    next: FileIdExtdDirectoryInfo,
};

const BOTH: Listing = Listing {
    form: Form::BOTH,
    first: FileIdBothDirectoryRestartInfo,
    next: FileIdBothDirectoryInfo,
};

const _: () = {
    assert!(offset_of!(FILE_ID_EXTD_DIR_INFO, FileNameLength) == directory::NAME_LENGTH);
    assert!(offset_of!(FILE_ID_EXTD_DIR_INFO, FileId) == Form::EXTENDED.id);
    assert!(offset_of!(FILE_ID_EXTD_DIR_INFO, FileName) == Form::EXTENDED.name);
    assert!(offset_of!(FILE_ID_BOTH_DIR_INFO, FileNameLength) == directory::NAME_LENGTH);
    assert!(offset_of!(FILE_ID_BOTH_DIR_INFO, FileId) == Form::BOTH.id);
    assert!(offset_of!(FILE_ID_BOTH_DIR_INFO, FileName) == Form::BOTH.name);
};

/// In 64-bit words, the alignment of the structures: 64 KiB.
const BLOCK: usize = 8192;

impl Listing {
    fn list(&self, directory: &OwnedHandle) -> Result<Vec<Entry>, Win32> {
        let mut block = vec![0_u64; BLOCK];
        let mut all = Vec::new();
        let mut class = self.first;
        while fill(directory, class, &mut block)? {
            let bytes: Vec<u8> = block.iter().flat_map(|word| word.to_le_bytes()).collect();
            let entries = directory::entries(&bytes, self.form);
            all.extend(entries.map_err(|_| Win32::INVALID_PARAMETER)?);
            class = self.next;
        }
        Ok(all)
    }
}

/// Fills the block with the next entries, if any.
fn fill(
    directory: &OwnedHandle,
    class: FILE_INFO_BY_HANDLE_CLASS,
    block: &mut [u64],
) -> Result<bool, Win32> {
    let length = u32::try_from(size_of_val(block)).map_err(|_| Win32::INVALID_PARAMETER)?;
    // SAFETY: the handle is open, and the block is as long as we say and aligned as the structures are.
    let filled = outcome(unsafe {
        GetFileInformationByHandleEx(
            directory.as_raw_handle(),
            class,
            block.as_mut_ptr().cast(),
            length,
        )
    });
    match filled {
        Ok(()) => Ok(true),
        Err(Win32(ERROR_NO_MORE_FILES)) => Ok(false),
        Err(code) => Err(code),
    }
}
