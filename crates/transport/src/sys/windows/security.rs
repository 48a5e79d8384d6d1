//! Security descriptors from SDDL text, and the access lists of handles' objects.

// UNSAFETY: the conversions exist in Win32 alone, and LocalFree has to free their memory.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::{io, ptr, slice};

use windows_sys::Win32::Foundation::{ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1,
    SE_FILE_OBJECT, SE_OBJECT_TYPE, SetSecurityInfo,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetSecurityDescriptorDacl, PROTECTED_DACL_SECURITY_INFORMATION,
    SECURITY_ATTRIBUTES,
};

/// A security descriptor, allocated by the system.
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

    /// Gives its access list to a file or folder, without inheritance. The handle needs `WRITE_DAC`.
    pub(super) fn protect(&self, file: &OwnedHandle) -> io::Result<()> {
        let (mut is_present, mut list, mut is_default) = (0, ptr::null_mut(), 0);
        // SAFETY: the descriptor is alive; the three results outlive the call.
        let known = unsafe {
            GetSecurityDescriptorDacl(
                self.0,
                &raw mut is_present,
                &raw mut list,
                &raw mut is_default,
            )
        };
        if known == 0 || is_present == 0 || list.is_null() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
        let [owner, group] = [ptr::null_mut(); 2];
        // SAFETY: the handle is open; the list lies in the descriptor; unset parts may be null.
        succeeded(unsafe {
            SetSecurityInfo(
                file.as_raw_handle(),
                SE_FILE_OBJECT,
                what,
                owner,
                group,
                list,
                ptr::null(),
            )
        })
    }

    /// For a handle without inheritance by child processes; valid as long as `self`.
    pub(super) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).expect("a small struct"),
            lpSecurityDescriptor: self.0,
            bInheritHandle: 0,
        }
    }
}

/// The access list of a handle's object, in SDDL. The handle needs `READ_CONTROL`.
pub(super) fn access_list(handle: &OwnedHandle, kind: SE_OBJECT_TYPE) -> io::Result<String> {
    let mut descriptor = ptr::null_mut();
    // SAFETY: the handle is open; unrequested parts may be null, and the result outlives the call.
    succeeded(unsafe {
        GetSecurityInfo(
            handle.as_raw_handle(),
            kind,
            DACL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    })?;
    text(&SecurityDescriptor(descriptor))
}

fn text(descriptor: &SecurityDescriptor) -> io::Result<String> {
    let (mut text, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the descriptor is alive, and the two results outlive the call.
    let written = unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor.0,
            SDDL_REVISION_1,
            DACL_SECURITY_INFORMATION,
            &raw mut text,
            &raw mut length,
        )
    };
    if written == 0 {
        return Err(io::Error::last_os_error());
    }
    let length = usize::try_from(length).unwrap_or_default();
    // SAFETY: the text has as many units as the call reports, its NUL included.
    let units = unsafe { slice::from_raw_parts(text, length) };
    let copy = String::from_utf16_lossy(units);
    // SAFETY: the conversion has allocated it, and documents this way to free it; the units are
    // copied.
    unsafe { LocalFree(text.cast()) };
    Ok(copy.trim_end_matches('\0').to_owned())
}

fn succeeded(code: u32) -> io::Result<()> {
    match code {
        ERROR_SUCCESS => Ok(()),
        _ => Err(io::Error::from_raw_os_error(code.cast_signed())),
    }
}

impl Drop for SecurityDescriptor {
    fn drop(&mut self) {
        // SAFETY: allocated by the conversion, with this documented way to free it, and unused from
        // now on.
        unsafe { LocalFree(self.0) };
    }
}
