//! The owner of an opened pipe or socket, and of an entry of a folder.
//!
//! The descriptor is the pipe's, not the instance's: its owner is the default owner of the token of the first
//! instance's maker, or the one named at its creation
//! ([owner](https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object)). A process can name itself and
//! its groups with the owner attribute; Administrators are among these for LocalSystem and for an elevated
//! administrator, and for nobody else without the privilege to restore files
//! ([TOKEN_OWNER](https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_token_owner)).
//!
//! Reading it takes `READ_CONTROL`, a part of every client's `FILE_GENERIC_READ`
//! ([rights](https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights)).
//!
//! A connected socket has no owner. The system reports the listening process; the default owner in its token is judged
//! as a pipe's owner is, and so is the owner of the socket's file.

// UNSAFETY: the owner of an object is read, and its SID written as text, through Win32 alone.
#![expect(unsafe_code)]

use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::Path;
use std::{io, process, ptr};

use windows_sys::Win32::Foundation::{ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, GetSecurityInfo, SE_KERNEL_OBJECT, SE_OBJECT_TYPE,
};
use windows_sys::Win32::Security::{OWNER_SECURITY_INFORMATION, PSID};

use super::super::ServerOwner;
use super::entry::{Entry, Kind};
use super::user;

/// LocalSystem and Administrators.
const TRUSTED: [&str; 2] = ["S-1-5-18", "S-1-5-32-544"];

pub(super) fn of(pipe: &OwnedHandle) -> io::Result<ServerOwner> {
    Ok(judged(name_of(pipe, SE_KERNEL_OBJECT)?))
}

/// The owner of the socket at `path`, by the listening process and by the file. The system reports only the process's
/// number, and another process can get it later; the file keeps its owner.
pub(super) fn of_socket(path: &Path, pid: Option<u32>) -> io::Result<ServerOwner> {
    Ok(of_both(of_process(pid)?, of_file(path)?))
}

/// The less trusted one.
fn of_both(process: ServerOwner, file: ServerOwner) -> ServerOwner {
    let trust = |owner: &ServerOwner| (owner.is_trusted, owner.is_own_user);
    match trust(&process) < trust(&file) {
        true => process,
        false => file,
    }
}

/// The owner of a socket's file; a link in its place is not followed.
fn of_file(path: &Path) -> io::Result<ServerOwner> {
    let entry = Entry::open_to_inspect(path)?.ok_or(io::ErrorKind::NotFound)?;
    match entry.kind()? {
        Kind::Socket | Kind::Empty => Ok(judged(entry.owner()?)),
        Kind::Folder | Kind::Other => Err(io::Error::other("there is no socket any more")),
    }
}

/// The default owner of the process listening on a socket.
fn of_process(pid: Option<u32>) -> io::Result<ServerOwner> {
    let owner = pid.and_then(user::owner_given_by_process);
    let owner = owner.ok_or_else(|| io::Error::other("the system does not tell who listens"))?;
    Ok(judged(owner.sid_text()))
}

/// Whether an owner is one whom clients trust, or this process's user.
pub(super) fn is_own(owner: &str) -> bool {
    TRUSTED.contains(&owner) || is_own_user(owner)
}

fn is_own_user(owner: &str) -> bool {
    user::of_process(process::id()).is_some_and(|user| user.sid_text() == owner)
}

fn judged(name: String) -> ServerOwner {
    ServerOwner {
        is_trusted: TRUSTED.contains(&name.as_str()),
        is_own_user: is_own_user(&name),
        name,
    }
}

/// The owner of a handle's object, as `S-1-...`, or that it has none. The handle needs `READ_CONTROL`.
pub(super) fn name_of(handle: &OwnedHandle, kind: SE_OBJECT_TYPE) -> io::Result<String> {
    Ok(sid_of(handle, kind)?.unwrap_or_else(|| "nobody".to_owned()))
}

fn sid_of(handle: &OwnedHandle, kind: SE_OBJECT_TYPE) -> io::Result<Option<String>> {
    let mut owner: PSID = ptr::null_mut();
    let mut descriptor = ptr::null_mut();
    // SAFETY: the handle is open, and the pointers outlive the call; those of unrequested parts may be null.
    let status = unsafe {
        GetSecurityInfo(
            handle.as_raw_handle(),
            kind,
            OWNER_SECURITY_INFORMATION,
            &raw mut owner,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    if status != ERROR_SUCCESS {
        return Err(io::Error::from_raw_os_error(status.cast_signed()));
    }
    let text = (!owner.is_null()).then(|| text(owner)).transpose();
    // SAFETY: the call has allocated it, and documents this way to free it; the owner within is not used any more.
    unsafe { LocalFree(descriptor) };
    text
}

/// A SID as `S-1-...`.
fn text(sid: PSID) -> io::Result<String> {
    let mut wide = ptr::null_mut();
    // SAFETY: the SID is one of a descriptor of the system's, and both outlive the call.
    if unsafe { ConvertSidToStringSidW(sid, &raw mut wide) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let mut units = Vec::new();
    let mut at = wide.cast_const();
    // SAFETY: the text ends in a zero, and nothing behind it is read.
    while let unit @ 1.. = unsafe { at.read() } {
        units.push(unit);
        // SAFETY: the unit before was not the last of the text.
        at = unsafe { at.add(1) };
    }
    // SAFETY: the conversion has allocated it, and documents this way to free it.
    unsafe { LocalFree(wide.cast()) };
    Ok(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::super::super::{Listener, Read};
    use super::super::listen;
    use super::*;
    use crate::{
        Call, CallError, Channel, ChannelOptions, DEFAULT_SECURITY, Endpoint, Owner, Server,
        ServerOptions, Service, Status,
    };

    const TIMEOUT: Duration = Duration::from_secs(30);

    struct Echo;

    impl Service for Echo {
        fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
            Ok(call.message.to_vec())
        }
    }

    fn endpoint(name: &str, security: &str) -> (Endpoint, ServerOptions) {
        let endpoint = Endpoint::pipe(&format!("wincsi-test-owner-{name}")).unwrap();
        let options = ServerOptions {
            security: security.to_owned(),
            ..ServerOptions::default()
        };
        (endpoint, options)
    }

    fn server(name: &str, security: &str) -> (Server, Endpoint) {
        let (endpoint, options) = endpoint(name, security);
        let service: Arc<dyn Service> = Arc::new(Echo);
        let server = Server::bind(vec![(endpoint.clone(), service)], options).unwrap();
        (server, endpoint)
    }

    fn call(endpoint: &Endpoint, owner: Owner) -> Result<Vec<u8>, CallError> {
        let options = ChannelOptions {
            owner,
            ..ChannelOptions::default()
        };
        let channel = Channel::connect(endpoint.clone(), options)?;
        let deadline = Instant::now() + TIMEOUT;
        channel.call("/v1.Test/Echo", b"fine", deadline)
    }

    /// The SID of the tests' account, as text.
    fn own_sid() -> String {
        user::of_process(process::id()).unwrap().sid_text()
    }

    #[test]
    fn a_pipe_of_administrators_or_of_the_system_is_called() {
        let (_default, endpoint) = server("default", DEFAULT_SECURITY);
        assert_eq!(call(&endpoint, Owner::Administrators).unwrap(), b"fine");
        assert_eq!(TRUSTED, ["S-1-5-18", "S-1-5-32-544"]);
    }

    /// All bytes from the other end until it hung up.
    fn received(listeners: &mut [Listener]) -> Vec<u8> {
        let end = Instant::now() + TIMEOUT;
        let mut client = None;
        let mut bytes = Vec::new();
        loop {
            assert!(Instant::now() < end, "no client came and went");
            let Some(client) = &mut client else {
                let mut accepted = listeners.iter_mut().map(|one| one.accept().unwrap());
                client = accepted.find_map(|stream| stream);
                continue;
            };
            client.begin_read();
            match client.read().unwrap() {
                Read::Closed => return bytes,
                Read::Data(data) => bytes.extend_from_slice(data),
                Read::Pending => thread::yield_now(),
            }
        }
    }

    /// Guards: P4
    #[test]
    fn a_pipe_of_another_account_is_named_with_it_and_gets_nothing() {
        let sid = own_sid();
        let (endpoint, options) = endpoint("foreign", &format!("O:{sid}D:P(A;;GA;;;WD)"));
        let mut listeners = listen(&endpoint, &options).unwrap();
        match call(&endpoint, Owner::Administrators) {
            Err(CallError::ForeignOwner {
                endpoint: of,
                owner,
            }) => {
                assert_eq!((of, owner), (endpoint, sid));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(received(&mut listeners), b"");
    }

    /// Guards: P4
    #[test]
    fn a_socket_is_trusted_when_both_its_process_and_its_file_are() {
        let [system, administrators] = TRUSTED.map(|sid| judged(sid.to_owned()));
        let user = judged("S-1-5-21-1-2-3-1000".to_owned());
        let own = judged(own_sid());
        for (process, file, judged) in [
            (&system, &administrators, &administrators),
            (&administrators, &user, &user),
            (&user, &administrators, &user),
            (&own, &administrators, &own),
            (&system, &own, &own),
            (&own, &user, &user),
            (&user, &own, &user),
        ] {
            assert_eq!(of_both(process.clone(), file.clone()), *judged);
        }
        assert!(system.is_trusted && administrators.is_trusted && !user.is_trusted);
        assert!(own.is_own_user && !own.is_trusted && !user.is_own_user);
    }

    #[test]
    fn what_is_no_socket_says_nobodys_socket_is_there() {
        let home = tempfile::tempdir().unwrap();
        let own = Some(process::id());
        let gone = of_socket(&home.path().join("gone"), own).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        assert!(of_socket(home.path(), own).is_err());
    }

    /// In a container, `wincsi node drain` is ContainerAdministrator, as the server is.
    /// Guards: P4
    #[test]
    fn a_pipe_of_its_own_user_is_called_where_asked() {
        let (_server, endpoint) = server("own", &format!("O:{}D:P(A;;GA;;;WD)", own_sid()));
        let own = call(&endpoint, Owner::AdministratorsOrOwnUser);
        assert_eq!(own.unwrap(), b"fine");
    }

    #[test]
    fn a_client_that_trusts_anybody_calls_a_pipe_of_another_account() {
        let (_server, endpoint) = server("any", &format!("O:{}D:P(A;;GA;;;WD)", own_sid()));
        assert_eq!(call(&endpoint, Owner::Any).unwrap(), b"fine");
    }
}
