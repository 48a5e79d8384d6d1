//! Searches in directories.

// UNSAFETY: a search is a foreign handle, and each step fills a structure of ours.
#![expect(unsafe_code)]

use std::ffi::OsString;
use std::ptr;

use os::{Entry, FileAttributes, ReparseTag, Win32};
use windows_sys::Win32::Foundation::{ERROR_NO_MORE_FILES, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FIND_FIRST_EX_FLAGS, FindClose, FindExInfoBasic, FindExSearchNameMatch, FindFirstFileExW,
    FindNextFileW, WIN32_FIND_DATAW,
};

use super::{last_error, outcome};
use crate::wide::{self, Wide};

/// One entry of a search.
pub(crate) struct Found {
    pub(crate) name: OsString,
    pub(crate) entry: Entry,
}

/// A search under way. It ends with its value.
pub(crate) struct Search(HANDLE);

impl Search {
    /// Begins a search (`FindFirstFileExW`) and returns its first entry, without short names.
    pub(crate) fn begin(
        pattern: &Wide,
        flags: FIND_FIRST_EX_FLAGS,
    ) -> Result<(Self, Found), Win32> {
        let mut data = WIN32_FIND_DATAW::default();
        // SAFETY: the pattern ends in a NUL, the level fills a structure of exactly this type, and
        // the filter is reserved and null.
        let handle = unsafe {
            FindFirstFileExW(
                pattern.as_ptr(),
                FindExInfoBasic,
                ptr::from_mut(&mut data).cast(),
                FindExSearchNameMatch,
                ptr::null(),
                flags,
            )
        };
        if handle == INVALID_HANDLE_VALUE {
            return Err(last_error());
        }
        Ok((Self(handle), found(&data)))
    }

    /// The next entry; `None` at the end (`FindNextFileW`).
    pub(crate) fn next(&mut self) -> Result<Option<Found>, Win32> {
        let mut data = WIN32_FIND_DATAW::default();
        // SAFETY: the search is open, and the structure is of the call's type.
        match outcome(unsafe { FindNextFileW(self.0, &raw mut data) }) {
            Ok(()) => Ok(Some(found(&data))),
            Err(Win32(ERROR_NO_MORE_FILES)) => Ok(None),
            Err(code) => Err(code),
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        // SAFETY: the search is open, and this is its end. A failure leaves nothing to be done.
        unsafe { FindClose(self.0) };
    }
}

fn found(data: &WIN32_FIND_DATAW) -> Found {
    let attributes = FileAttributes(data.dwFileAttributes);
    let is_reparse_point = attributes.contains(FileAttributes::REPARSE_POINT);
    let is_directory = attributes.contains(FileAttributes::DIRECTORY);
    let size = u64::from(data.nFileSizeHigh) << 32 | u64::from(data.nFileSizeLow);
    Found {
        name: wide::text(&data.cFileName),
        entry: Entry {
            attributes,
            tag: is_reparse_point.then_some(ReparseTag(data.dwReserved0)),
            size: if is_directory { 0 } else { size },
        },
    }
}
