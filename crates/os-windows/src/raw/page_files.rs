//! The page files in use.

// UNSAFETY: a foreign function calls one of ours with texts of its own.
#![expect(unsafe_code)]

use std::ffi::{OsString, c_void};
use std::os::windows::ffi::OsStringExt;
use std::slice;

use os::Win32;
use windows_sys::Win32::Foundation::{ERROR_SUCCESS, FALSE, SetLastError, TRUE};
use windows_sys::Win32::System::ProcessStatus::{ENUM_PAGE_FILE_INFORMATION, K32EnumPageFilesW};
use windows_sys::core::{BOOL, PCWSTR};

use super::outcome;

/// Longer than any path; bounds how far a text is read.
const LONGEST: usize = 0x8000;

/// Windows has at most sixteen page files.
const MOST: usize = 64;

/// The page files, as the system lists them. A failure without a code has the code zero, not an
/// earlier call's.
///
/// <https://learn.microsoft.com/windows/win32/api/psapi/nf-psapi-enumpagefilesw>
pub(crate) fn list() -> Result<Listing, Win32> {
    let mut listing = Listing {
        names: Vec::new(),
        is_whole: true,
    };
    let context = (&raw mut listing).cast::<c_void>();
    // SAFETY: the function has no preconditions.
    unsafe { SetLastError(ERROR_SUCCESS) };
    // SAFETY: the callback gets the context back while the call lasts, and nothing else uses it.
    outcome(unsafe { K32EnumPageFilesW(Some(note), context) })?;
    Ok(listing)
}

/// The callback's data.
pub(crate) struct Listing {
    /// A name for each entry, empty where it has none.
    pub(crate) names: Vec<OsString>,
    /// Whether these are all.
    pub(crate) is_whole: bool,
}

impl Listing {
    /// Whether there is one entry in all, and it names no file.
    pub(crate) fn is_one_without_a_name(&self) -> bool {
        self.is_whole && matches!(self.names.as_slice(), [name] if name.is_empty())
    }

    fn add(&mut self, name: Option<OsString>) -> BOOL {
        match name {
            Some(name) if self.names.len() < MOST => {
                self.names.push(name);
                TRUE
            }
            _ => {
                self.is_whole = false;
                FALSE
            }
        }
    }
}

unsafe extern "system" fn note(
    context: *mut c_void,
    _: *mut ENUM_PAGE_FILE_INFORMATION,
    name: PCWSTR,
) -> BOOL {
    // SAFETY: the context is `list`'s, and `list` waits for the call to end.
    let Some(listing) = (unsafe { context.cast::<Listing>().as_mut() }) else {
        return FALSE;
    };
    // SAFETY: the name is the system's text with a NUL at its end, valid during this call.
    listing.add(unsafe { copied(name) })
}

/// The text up to its NUL, empty of a null; `None` when it has no end.
///
/// # Safety
/// The text is readable up to its NUL.
unsafe fn copied(text: PCWSTR) -> Option<OsString> {
    if text.is_null() {
        return Some(OsString::new());
    }
    // SAFETY: each unit up to the first NUL is readable, and the search ends there.
    let length = (0..LONGEST).find(|at| unsafe { *text.add(*at) } == 0)?;
    // SAFETY: as many units were just read.
    let units = unsafe { slice::from_raw_parts(text, length) };
    Some(OsString::from_wide(units))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn a_name_is_copied_up_to_its_nul() {
        let text: Vec<u16> = "C:\\pagefile.sys\0rest".encode_utf16().collect();
        // SAFETY: there is a NUL in it.
        let name = unsafe { copied(text.as_ptr()) };
        assert_eq!(name, Some("C:\\pagefile.sys".into()));
        // SAFETY: nothing is read of a null.
        assert_eq!(unsafe { copied(ptr::null()) }, Some(OsString::new()));
    }

    #[test]
    fn names_that_cannot_be_taken_are_not_left_out_in_silence() {
        let mut listing = Listing {
            names: Vec::new(),
            is_whole: true,
        };
        for _ in 0..MOST {
            assert_eq!(listing.add(Some("C:\\pagefile.sys".into())), TRUE);
        }
        assert!(listing.is_whole);
        assert_eq!(listing.add(Some("D:\\pagefile.sys".into())), FALSE);
        assert!(!listing.is_whole);
        listing.is_whole = true;
        assert_eq!(listing.add(None), FALSE);
        assert!(!listing.is_whole);
    }
}
