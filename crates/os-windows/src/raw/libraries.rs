//! Where libraries are looked for.

// UNSAFETY: the search path of the process is set by a foreign function.
#![expect(unsafe_code)]

use os::Win32;
use windows_sys::Win32::System::LibraryLoader::{
    LOAD_LIBRARY_SEARCH_SYSTEM32, SetDefaultDllDirectories,
};

use super::outcome;

/// Limits the search for libraries named without a path to System32.
///
/// <https://learn.microsoft.com/windows/win32/api/libloaderapi/nf-libloaderapi-setdefaultdlldirectories>
pub(crate) fn search_system32_only() -> Result<(), Win32> {
    // SAFETY: no pointers.
    outcome(unsafe { SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32) })
}
