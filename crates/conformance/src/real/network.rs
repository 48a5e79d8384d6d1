//! A share and a local user, on this machine.

// UNSAFETY: foreign functions read structures of ours, the texts in them outlive the call, and a returned security
// descriptor frees itself here.
#![expect(unsafe_code)]

use std::ptr;

use os::{Error, Win32};
use windows_sys::Win32::Foundation::{GetLastError, LocalFree};
use windows_sys::Win32::NetworkManagement::NetManagement::{
    NERR_NetNameNotFound, NERR_UserNotFound, NetUserAdd, NetUserDel, UF_DONT_EXPIRE_PASSWD,
    UF_SCRIPT, USER_INFO_1, USER_PRIV_USER,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::PSECURITY_DESCRIPTOR;
use windows_sys::Win32::Storage::FileSystem::{
    NetShareAdd, NetShareDel, SHARE_INFO_502, STYPE_DISKTREE,
};
use zeroize::Zeroizing;

use super::wide::wide;

/// Authenticated users may read and execute; nobody may write.
const READ_ONLY: &str = "D:(A;;0x1200a9;;;AU)";

/// `shi502_max_uses`: as many as come.
const UNLIMITED: u32 = u32::MAX;

/// Shares a local folder for reading, by users with a logon.
///
/// Sources: <https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netshareadd>,
/// <https://learn.microsoft.com/windows/win32/api/lmshare/ns-lmshare-share_info_502>.
///
/// # Errors
/// `NERR_DuplicateShare` (2118), `NERR_ServerNotStarted` (2114), no such folder, no administrator.
pub fn add_share(name: &str, folder: &str, remark: &str) -> os::Result<()> {
    let failed = |code| Error::new("NetShareAdd", name, code);
    let descriptor = Descriptor::parse(READ_ONLY).map_err(failed)?;
    let texts = [name, folder, remark].map(wide);
    let [Ok(mut name_units), Ok(mut folder), Ok(mut remark)] = texts else {
        return Err(failed(Win32::INVALID_NAME));
    };
    let share = SHARE_INFO_502 {
        shi502_netname: name_units.as_mut_ptr(),
        shi502_type: STYPE_DISKTREE,
        shi502_remark: remark.as_mut_ptr(),
        shi502_max_uses: UNLIMITED,
        shi502_path: folder.as_mut_ptr(),
        shi502_security_descriptor: descriptor.0,
        ..SHARE_INFO_502::default()
    };
    let buffer = ptr::from_ref(&share).cast();
    // SAFETY: level 502 uses this structure, and its texts and descriptor outlive the call; a null server is this
    // machine, and the place for the wrong parameter may be left out.
    code(unsafe { NetShareAdd(ptr::null(), 502, buffer, ptr::null_mut()) }).map_err(failed)
}

/// Removes a share and ends all connections to it; a missing one is success.
///
/// Source: <https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netsharedel>.
///
/// # Errors
/// No administrator, no server service.
pub fn remove_share(name: &str) -> os::Result<()> {
    let failed = |code| Error::new("NetShareDel", name, code);
    let units = wide(name).map_err(failed)?;
    // SAFETY: the name ends in a NUL, and a null server is this machine.
    match code(unsafe { NetShareDel(ptr::null(), units.as_ptr(), 0) }) {
        Err(code) if code == Win32(NERR_NetNameNotFound) => Ok(()),
        other => other.map_err(failed),
    }
}

/// A local account to be made, with no more rights than any user's.
pub struct NewUser<'a> {
    /// At most 20 characters.
    pub name: &'a str,
    /// As the machine's policy wants it.
    pub password: &'a str,
    /// The account's comment.
    pub comment: &'a str,
}

/// Makes a local user.
///
/// Sources: <https://learn.microsoft.com/windows/win32/api/lmaccess/nf-lmaccess-netuseradd>,
/// <https://learn.microsoft.com/windows/win32/api/lmaccess/ns-lmaccess-user_info_1>.
///
/// # Errors
/// `NERR_UserExists` (2224), `NERR_PasswordTooShort` (2245), no administrator.
pub fn add_user(user: &NewUser<'_>) -> os::Result<()> {
    let failed = |code| Error::new("NetUserAdd", user.name, code);
    let mut name = wide(user.name).map_err(failed)?;
    let mut comment = wide(user.comment).map_err(failed)?;
    let mut password = Zeroizing::new(wide(user.password).map_err(failed)?);
    let account = USER_INFO_1 {
        usri1_name: name.as_mut_ptr(),
        usri1_password: password.as_mut_ptr(),
        usri1_priv: USER_PRIV_USER,
        usri1_comment: comment.as_mut_ptr(),
        usri1_flags: UF_SCRIPT | UF_DONT_EXPIRE_PASSWD,
        ..USER_INFO_1::default()
    };
    let buffer = ptr::from_ref(&account).cast();
    // SAFETY: level 1 uses this structure, and its texts outlive the call; a null server is this machine, and the place
    // for the wrong parameter may be left out.
    code(unsafe { NetUserAdd(ptr::null(), 1, buffer, ptr::null_mut()) }).map_err(failed)
}

/// Removes a local user; a missing one is success.
///
/// Source: <https://learn.microsoft.com/windows/win32/api/lmaccess/nf-lmaccess-netuserdel>.
///
/// # Errors
/// No administrator, or the user uses something of this server: remove shares before their users.
pub fn remove_user(name: &str) -> os::Result<()> {
    let failed = |code| Error::new("NetUserDel", name, code);
    let units = wide(name).map_err(failed)?;
    // SAFETY: the name ends in a NUL, and a null server is this machine.
    match code(unsafe { NetUserDel(ptr::null(), units.as_ptr()) }) {
        Err(code) if code == Win32(NERR_UserNotFound) => Ok(()),
        other => other.map_err(failed),
    }
}

/// A security descriptor allocated by the system.
struct Descriptor(PSECURITY_DESCRIPTOR);

impl Descriptor {
    /// One block, to be freed by `LocalFree`.
    ///
    /// Source: <https://learn.microsoft.com/windows/win32/api/sddl/nf-sddl-convertstringsecuritydescriptortosecuritydescriptorw>.
    fn parse(sddl: &str) -> Result<Self, Win32> {
        let text = wide(sddl)?;
        let mut descriptor = ptr::null_mut();
        // SAFETY: the text ends in a NUL, the output is ours, and the length may be left out.
        let answer = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        };
        match answer {
            // SAFETY: the function has no preconditions.
            0 => Err(Win32(unsafe { GetLastError() })),
            _ => Ok(Self(descriptor)),
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the system allocated it by LocalAlloc for us, and nothing uses it any more.
        unsafe { LocalFree(self.0) };
    }
}

/// These functions answer their code.
fn code(answer: u32) -> Result<(), Win32> {
    match answer {
        0 => Ok(()),
        code => Err(Win32(code)),
    }
}
