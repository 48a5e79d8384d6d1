//! Win32 calls as safe functions: owned handles, bounded buffers, and the error code as the error.

pub(crate) mod computer_name;
pub(crate) mod console;
pub(crate) mod event_log;
pub(crate) mod file;
pub(crate) mod find;
pub(crate) mod firmware;
pub(crate) mod handle;
pub(crate) mod identity;
pub(crate) mod interfaces;
pub(crate) mod libraries;
pub(crate) mod message;
pub(crate) mod page_files;
pub(crate) mod privilege;
pub(crate) mod process;
pub(crate) mod registry;
pub(crate) mod relative;
pub(crate) mod security;
pub(crate) mod service;
pub(crate) mod socket;
pub(crate) mod volume;
pub(crate) mod windows_directory;

// UNSAFETY: the calling thread's last error is read by a foreign function.
#[expect(unsafe_code)]
mod status {
    use os::Win32;
    use windows_sys::Win32::Foundation::GetLastError;
    use windows_sys::core::BOOL;

    /// The outcome of a call that returns zero on failure.
    pub(crate) fn outcome(answer: BOOL) -> Result<(), Win32> {
        if answer == 0 {
            return Err(last_error());
        }
        Ok(())
    }

    /// Why the call before this one failed.
    pub(crate) fn last_error() -> Win32 {
        // SAFETY: the function has no preconditions.
        Win32(unsafe { GetLastError() })
    }
}

use status::{last_error, outcome};
