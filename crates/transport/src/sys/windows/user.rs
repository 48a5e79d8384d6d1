//! The account of a process.
//!
//! The pipe reports only the process: reading the client's account by impersonation
//! ([ImpersonateNamedPipeClient](https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-impersonatenamedpipeclient))
//! takes bytes from it first, and fails for anonymous connections such as ours. So this reads the process's token, as
//! LocalSystem may for all but protected processes
//! ([OpenProcessToken](https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-openprocesstoken)).
//!
//! A client can hand its end to another process and end; its number may go to a process of another account before the
//! query. Its connections then count as that account's when connections run out. A server can do the same to a client
//! that checks a socket's owner, and gains nothing, as the socket's file has an owner too, unless it can put a file of
//! a trusted owner there.

// UNSAFETY: tokens of other processes are opened and read through Win32 alone.
#![expect(unsafe_code)]

use std::mem::offset_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{
    GetTokenInformation, TOKEN_INFORMATION_CLASS, TOKEN_OWNER, TOKEN_QUERY, TOKEN_USER, TokenOwner,
    TokenUser,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION,
};

use super::super::UserId;

/// Room for a TOKEN_USER or TOKEN_OWNER and the longest SID (SECURITY_MAX_SID_SIZE, 68 bytes), aligned for both.
type Buffer = [u64; 16];

// Both begin with the pointer to their SID.
const _: () = assert!(offset_of!(TOKEN_USER, User.Sid) == 0 && offset_of!(TOKEN_OWNER, Owner) == 0);

/// The SID of a process's account; None if the system does not report it.
pub(super) fn of_process(pid: u32) -> Option<UserId> {
    sid_of_token(pid, TokenUser)
}

/// The default owner's SID in a process's token: Administrators' for LocalSystem and for an elevated administrator;
/// None if the system does not report it.
pub(super) fn owner_given_by_process(pid: u32) -> Option<UserId> {
    sid_of_token(pid, TokenOwner)
}

fn sid_of_token(pid: u32, class: TOKEN_INFORMATION_CLASS) -> Option<UserId> {
    // SAFETY: no pointers.
    let process = owned(unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) })?;
    let mut token = ptr::null_mut();
    // SAFETY: the handle is open and `token` outlives the call.
    let opened = unsafe { OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token) };
    let token = owned(token).filter(|_| opened != 0)?;
    let mut buffer = Buffer::default();
    let mut length = 0;
    // SAFETY: the handle is open, the buffer has as many bytes as is said, and both outlive the call.
    let read = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            class,
            (&raw mut buffer).cast(),
            u32::try_from(size_of::<Buffer>()).ok()?,
            &raw mut length,
        )
    };
    (read != 0).then(|| sid(&buffer)).flatten()
}

/// The SID behind the structure in the same buffer.
fn sid(buffer: &Buffer) -> Option<UserId> {
    let sid = usize::try_from(buffer[0]).ok()?;
    let start = sid.checked_sub(ptr::from_ref(buffer).addr())?;
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    // Revision, number of parts, six bytes of authority, and four for each part.
    let parts = usize::from(*bytes.get(start + 1)?);
    bytes.get(start..start + 8 + 4 * parts).map(UserId::new)
}

impl UserId {
    /// A SID's bytes as `S-1-...`: revision, number of parts, the authority in six bytes, and the parts in four each
    /// (<https://learn.microsoft.com/windows/win32/secauthz/sid-components>).
    pub(super) fn sid_text(&self) -> String {
        let [revision, _, authority @ ..] = &*self.0 else {
            return String::new();
        };
        let (authority, parts) = authority.split_at_checked(6).unwrap_or_default();
        let authority = authority
            .iter()
            .fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        let mut text = format!("S-{revision}-{authority}");
        for part in parts.as_chunks().0 {
            text.push_str(&format!("-{}", u32::from_le_bytes(*part)));
        }
        text
    }
}

fn owned(handle: HANDLE) -> Option<OwnedHandle> {
    // SAFETY: the handle was just made and belongs to nobody else; a null one is none.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_process_is_told_and_of_none_it_is_not() {
        let own = of_process(std::process::id());
        assert!(own.is_some());
        assert_eq!(own, of_process(std::process::id()));
        // Windows gives processes numbers that are divisible by four; this one is never given.
        assert_eq!(of_process(u32::MAX), None);
    }

    #[test]
    fn a_sid_is_written_as_windows_writes_it() {
        let administrators = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0];
        assert_eq!(UserId::new(&administrators).sid_text(), "S-1-5-32-544");
    }

    #[test]
    fn the_owner_of_what_a_process_makes_is_told_and_of_none_it_is_not() {
        let owner = owner_given_by_process(std::process::id());
        assert!(owner.unwrap().sid_text().starts_with("S-1-5-"));
        assert_eq!(owner_given_by_process(u32::MAX), None);
    }
}
