//! The account of a process.
//!
//! The pipe tells the process alone: to ask for the client's account
//! ([ImpersonateNamedPipeClient](https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-impersonatenamedpipeclient))
//! takes bytes from it first, and gives nothing of one that connects anonymously, as ours does. So it
//! is the process's token that is asked, which LocalSystem may read of all but protected processes
//! ([OpenProcessToken](https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-openprocesstoken)).
//!
//! A client that hands its end to another process and ends can have its number go to a process of
//! another account before it is asked for. What it wins is that its connections count as that
//! account's where connections run out; nothing else asks for this.

// UNSAFETY: tokens of other processes are opened and read through Win32 alone.
#![expect(unsafe_code)]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{
    OpenProcess, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION,
};

use super::super::UserId;

/// Room for a TOKEN_USER and the longest SID (SECURITY_MAX_SID_SIZE, 68 bytes), aligned for both.
type Buffer = [u64; 16];

/// The SID of the account that a process runs as; None when the system does not tell it.
pub(super) fn of_process(pid: u32) -> Option<UserId> {
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
            TokenUser,
            (&raw mut buffer).cast(),
            u32::try_from(size_of::<Buffer>()).ok()?,
            &raw mut length,
        )
    };
    (read != 0).then(|| sid(&buffer)).flatten()
}

/// The SID behind a TOKEN_USER in the same buffer.
fn sid(buffer: &Buffer) -> Option<UserId> {
    // SAFETY: the buffer is large enough and aligned, and any bits are a TOKEN_USER.
    let user = unsafe { ptr::from_ref(buffer).cast::<TOKEN_USER>().read() };
    let start = user
        .User
        .Sid
        .addr()
        .checked_sub(ptr::from_ref(buffer).addr())?;
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    // Revision, number of parts, six bytes of authority, and four for each part.
    let parts = usize::from(*bytes.get(start + 1)?);
    bytes.get(start..start + 8 + 4 * parts).map(UserId::new)
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
}
