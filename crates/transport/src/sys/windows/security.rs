//! Security descriptors from SDDL text.

// UNSAFETY: the conversion exists in Win32 alone and gives memory that LocalFree has to free.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::mem::size_of;
use std::{io, ptr};

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;

/// A security descriptor that the system has allocated.
#[derive(Debug)]
pub(super) struct SecurityDescriptor(*mut c_void);

// SAFETY: the memory is only ever read, and freed once.
unsafe impl Send for SecurityDescriptor {}
// SAFETY: as above.
unsafe impl Sync for SecurityDescriptor {}

impl SecurityDescriptor {
    /// Parses SDDL.
    pub(super) fn parse(sddl: &str) -> io::Result<Self> {
        let text: Vec<u16> = sddl.encode_utf16().chain([0]).collect();
        let mut descriptor = ptr::null_mut();
        // SAFETY: `text` ends in a zero; `descriptor` outlives the call; the size may be null.
        let parsed = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        };
        match parsed {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(Self(descriptor)),
        }
    }

    /// For a handle that no child process inherits; valid as long as `self`.
    pub(super) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).expect("a small struct"),
            lpSecurityDescriptor: self.0,
            bInheritHandle: 0,
        }
    }
}

impl Drop for SecurityDescriptor {
    fn drop(&mut self) {
        // SAFETY: allocated by the conversion, which says to free it so, and nobody uses it now.
        unsafe { LocalFree(self.0) };
    }
}
