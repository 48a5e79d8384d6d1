//! Access control lists of handles' objects.

// UNSAFETY: foreign functions allocate descriptors and texts, only they can free these, and they
// return pointers into them.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::{ptr, slice};

use os::{Dacl, Win32};
use windows_sys::Win32::Foundation::{ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetNamedSecurityInfoW, GetSecurityInfo,
    SDDL_REVISION_1, SE_FILE_OBJECT, SetSecurityInfo,
};
use windows_sys::Win32::Security::{
    ACL, DACL_SECURITY_INFORMATION, GetSecurityDescriptorDacl, OWNER_SECURITY_INFORMATION,
    PROTECTED_DACL_SECURITY_INFORMATION, UNPROTECTED_DACL_SECURITY_INFORMATION,
};

use super::outcome;
use crate::wide::Wide;

/// The access control list of a file or directory, as text. The handle needs `READ_CONTROL`.
///
/// <https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getsecurityinfo>
pub(crate) fn dacl(file: &OwnedHandle) -> Result<String, Win32> {
    let mut descriptor = ptr::null_mut();
    // SAFETY: the handle is open; unrequested parts may be null, and the result outlives the call.
    let code = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    succeeded(code)?;
    text(&Local(descriptor), DACL_SECURITY_INFORMATION)
}

/// The owner and the access control list of a file or directory, as text.
///
/// <https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getnamedsecurityinfow>
pub(crate) fn owner_and_dacl(path: &Wide) -> Result<String, Win32> {
    let parts = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    let mut descriptor = ptr::null_mut();
    // SAFETY: the path ends in a NUL; unrequested parts may be null, and the result outlives the call.
    let code = unsafe {
        GetNamedSecurityInfoW(
            path.as_ptr(),
            SE_FILE_OBJECT,
            parts,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    succeeded(code)?;
    text(&Local(descriptor), parts)
}

/// Sets the access control list of a file or directory, and passes inheritable entries down to its content, one by one:
/// for directories with little content. The handle needs `READ_CONTROL` and `WRITE_DAC`. `SetKernelObjectSecurity`
/// would pass nothing down, but by its page it is not for files.
///
/// <https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-setsecurityinfo>
pub(crate) fn set_dacl(file: &OwnedHandle, dacl: &Dacl) -> Result<(), Win32> {
    let descriptor = parse(dacl)?;
    let list = list_of(&descriptor)?;
    let inheritance = match dacl.is_protected() {
        true => PROTECTED_DACL_SECURITY_INFORMATION,
        false => UNPROTECTED_DACL_SECURITY_INFORMATION,
    };
    // SAFETY: the handle is open; the list lies in the descriptor, and this outlives the call; unset parts may be null.
    succeeded(unsafe {
        SetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION | inheritance,
            ptr::null_mut(),
            ptr::null_mut(),
            list,
            ptr::null(),
        )
    })
}

/// Memory allocated by the system for us, freed by `LocalFree`.
struct Local(*mut c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: the call that allocated it documents this way to free it, and nothing uses it any
        // more.
        unsafe { LocalFree(self.0) };
    }
}

/// <https://learn.microsoft.com/windows/win32/api/sddl/nf-sddl-convertstringsecuritydescriptortosecuritydescriptorw>
fn parse(dacl: &Dacl) -> Result<Local, Win32> {
    let text = Wide::new(dacl.as_str())?;
    let mut descriptor = ptr::null_mut();
    // SAFETY: the text ends in a NUL, the result outlives the call, and the size may be null.
    outcome(unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            ptr::null_mut(),
        )
    })?;
    Ok(Local(descriptor))
}

/// The list in a descriptor. A missing or null one would allow everybody everything, and is an error.
fn list_of(descriptor: &Local) -> Result<*const ACL, Win32> {
    let (mut is_present, mut is_default) = (0, 0);
    let mut list = ptr::null_mut();
    // SAFETY: the system made the descriptor, and the results outlive the call.
    outcome(unsafe {
        GetSecurityDescriptorDacl(
            descriptor.0,
            &raw mut is_present,
            &raw mut list,
            &raw mut is_default,
        )
    })?;
    if is_present == 0 || list.is_null() {
        return Err(Win32::INVALID_PARAMETER);
    }
    Ok(list)
}

/// <https://learn.microsoft.com/windows/win32/api/sddl/nf-sddl-convertsecuritydescriptortostringsecuritydescriptorw>
fn text(descriptor: &Local, parts: u32) -> Result<String, Win32> {
    let (mut units, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the system made the descriptor, and the results outlive the call.
    outcome(unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor.0,
            SDDL_REVISION_1,
            parts,
            &raw mut units,
            &raw mut length,
        )
    })?;
    let text = Local(units.cast());
    let length = usize::try_from(length).map_err(|_| Win32::INVALID_PARAMETER)?;
    // SAFETY: the call succeeded, so the reported number of units is there, and `text` keeps them.
    let units = unsafe { slice::from_raw_parts(text.0.cast::<u16>(), length) };
    let text = units.split(|unit| *unit == 0).next().unwrap_or_default();
    String::from_utf16(text).map_err(|_| Win32::INVALID_PARAMETER)
}

fn succeeded(code: u32) -> Result<(), Win32> {
    match code {
        ERROR_SUCCESS => Ok(()),
        code => Err(Win32(code)),
    }
}
