//! Sockets: making, binding, connecting and accepting them, for both families by the same calls.
//!
//! Accepting needs no extension function: an event is set while clients wait
//! ([WSAEventSelect](https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsaeventselect)), and plain
//! `accept` takes one. AF_UNIX has no `ConnectEx`, so connecting is plain too, and an event is set when it is over.

// UNSAFETY: Winsock's functions take addresses and handles of ours, and return sockets for us to close.
#![expect(unsafe_code)]

use std::net::SocketAddr;
use std::os::windows::io::{AsRawSocket, FromRawSocket, OwnedSocket};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;
use std::{io, ptr};

use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, AF_UNIX, FD_ACCEPT, FD_CONNECT, FD_CONNECT_BIT, FIONBIO, IN_ADDR, IN_ADDR_0,
    IN6_ADDR, IN6_ADDR_0, INVALID_SOCKET, IPPROTO_TCP, SIO_AF_UNIX_GETPEERPID, SO_EXCLUSIVEADDRUSE,
    SO_RCVBUF, SO_SNDBUF, SOCK_STREAM, SOCKADDR, SOCKADDR_IN, SOCKADDR_IN6, SOCKADDR_UN, SOCKET,
    SOL_SOCKET, TCP_NODELAY, WSA_FLAG_NO_HANDLE_INHERIT, WSA_FLAG_OVERLAPPED, WSADATA,
    WSAECONNRESET, WSAETIMEDOUT, WSAEVENT, WSAEWOULDBLOCK, WSAEnumNetworkEvents, WSAEventSelect,
    WSAGetLastError, WSAIoctl, WSANETWORKEVENTS, WSASocketW, WSAStartup, accept, bind, connect,
    ioctlsocket, listen, setsockopt,
};

use super::super::folder::{Unfit, sun_path};
use super::end::Family;
use super::event::{Event, WaitSet};
use super::whole_millis;
use crate::LoopbackAddress;
use crate::endpoint::drive_path;

/// The version of the library's interface, 2.2.
const VERSION: u16 = 0x0202;
/// SOMAXCONN of winsock2.h: as many clients as the provider lets wait.
const BACKLOG: i32 = i32::MAX;

/// Where a socket is bound or connected to.
pub(super) enum Address {
    V4(SOCKADDR_IN),
    V6(SOCKADDR_IN6),
    Unix(Box<SOCKADDR_UN>),
}

impl Address {
    pub(super) fn tcp(address: LoopbackAddress) -> Self {
        let sin_port = address.get().port().to_be();
        match address.get() {
            SocketAddr::V4(address) => {
                let number = u32::from_ne_bytes(address.ip().octets());
                Self::V4(SOCKADDR_IN {
                    sin_family: AF_INET,
                    sin_port,
                    sin_addr: IN_ADDR {
                        S_un: IN_ADDR_0 { S_addr: number },
                    },
                    ..SOCKADDR_IN::default()
                })
            }
            SocketAddr::V6(address) => {
                let bytes = address.ip().octets();
                Self::V6(SOCKADDR_IN6 {
                    sin6_family: AF_INET6,
                    sin6_port: sin_port,
                    sin6_addr: IN6_ADDR {
                        u: IN6_ADDR_0 { Byte: bytes },
                    },
                    ..SOCKADDR_IN6::default()
                })
            }
        }
    }

    /// The address of a socket's file: an absolute path.
    pub(super) fn unix(path: &Path) -> io::Result<Self> {
        let absolute = path.to_str().and_then(drive_path).ok_or(Unfit::Form)?;
        let bytes = sun_path(Path::new(&absolute))?;
        let mut address = SOCKADDR_UN {
            sun_family: AF_UNIX,
            ..SOCKADDR_UN::default()
        };
        for (unit, byte) in address.sun_path.iter_mut().zip(bytes) {
            *unit = byte.cast_signed();
        }
        Ok(Self::Unix(Box::new(address)))
    }

    pub(super) fn family(&self) -> Family {
        match self {
            Self::V4(_) | Self::V6(_) => Family::Tcp,
            Self::Unix(_) => Family::Unix,
        }
    }

    fn number(&self) -> u16 {
        match self {
            Self::V4(address) => address.sin_family,
            Self::V6(address) => address.sin6_family,
            Self::Unix(address) => address.sun_family,
        }
    }

    /// The address as the functions want it, valid as long as `self`.
    fn raw(&self) -> (*const SOCKADDR, i32) {
        let (start, length) = match self {
            Self::V4(address) => (ptr::from_ref(address).cast(), size_of::<SOCKADDR_IN>()),
            Self::V6(address) => (ptr::from_ref(address).cast(), size_of::<SOCKADDR_IN6>()),
            Self::Unix(address) => (ptr::from_ref(&**address).cast(), size_of::<SOCKADDR_UN>()),
        };
        (start, i32::try_from(length).expect("a small struct"))
    }
}

/// A socket with its address; nobody can connect before [`listen_for`].
///
/// A port is bound exclusively: otherwise Windows lets another process bind it as well
/// (<https://learn.microsoft.com/windows/win32/winsock/using-so-reuseaddr-and-so-exclusiveaddruse>).
pub(super) fn bound(address: &Address) -> io::Result<OwnedSocket> {
    let socket = made(address)?;
    if address.family() == Family::Tcp {
        set(&socket, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1)?;
    }
    let (start, length) = address.raw();
    // SAFETY: the socket is open, and the address has as many bytes as is said and outlives the call.
    checked(unsafe { bind(number(&socket), start, length) })?;
    Ok(socket)
}

/// Bounds the system's buffers for each connection of a listener; its sockets inherit the bound.
pub(super) fn limit_buffers(socket: &OwnedSocket, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, SOL_SOCKET, SO_RCVBUF, bytes)?;
    set(socket, SOL_SOCKET, SO_SNDBUF, bytes)
}

/// Begins to listen; `event` is set while clients wait.
pub(super) fn listen_for(socket: &OwnedSocket, event: &Event) -> io::Result<()> {
    // SAFETY: the socket is open.
    checked(unsafe { listen(number(socket), BACKLOG) })?;
    select(socket, Some(event), FD_ACCEPT)
}

/// The next client, or None if there is none yet. `event` then reports later or further clients: it is reset first, and
/// every `accept` sets it again while a client waits.
pub(super) fn next(
    listener: &OwnedSocket,
    event: &Event,
    family: Family,
) -> io::Result<Option<OwnedSocket>> {
    next_with(listener, event, |socket| ready(socket, family))
}

fn next_with(
    listener: &OwnedSocket,
    event: &Event,
    ready: impl Fn(&OwnedSocket) -> io::Result<()>,
) -> io::Result<Option<OwnedSocket>> {
    network_events(listener, event)?;
    // SAFETY: the socket is open; the client's address is not requested.
    let accepted = unsafe { accept(number(listener), ptr::null_mut(), ptr::null_mut()) };
    match owned(accepted) {
        Ok(socket) => {
            // An error of one client's socket ends only this client.
            let readied = ready(&socket);
            Ok(readied.inspect_err(drop_client).ok().map(|()| socket))
        }
        // The second: a client left meanwhile.
        Err(error) if is(&error, WSAEWOULDBLOCK) || is(&error, WSAECONNRESET) => Ok(None),
        Err(error) => Err(error),
    }
}

fn drop_client(error: &io::Error) {
    tracing::debug!(%error, "a client is dropped: its socket cannot be made ready");
}

/// Connects, until `deadline`: the server takes nobody while its backlog is full.
pub(super) fn connected(address: &Address, deadline: Instant) -> io::Result<OwnedSocket> {
    let socket = made(address)?;
    let event = Event::manual_reset()?;
    // With this the call does not wait either.
    select(&socket, Some(&event), FD_CONNECT)?;
    let (start, length) = address.raw();
    // SAFETY: the socket is open, and the address has as many bytes as is said and outlives the call.
    match checked(unsafe { connect(number(&socket), start, length) }) {
        Err(error) if is(&error, WSAEWOULDBLOCK) => finish(&socket, &event, deadline)?,
        connected => connected?,
    }
    ready(&socket, address.family())?;
    Ok(socket)
}

/// The process at the other end of a Unix socket.
pub(super) fn peer_pid(socket: &OwnedSocket) -> Option<u32> {
    let (mut pid, mut count) = (0u32, 0);
    // SAFETY: the socket is open; the number has four bytes, and it and the count outlive the call, not an overlapped
    // one.
    let status = unsafe {
        WSAIoctl(
            number(socket),
            SIO_AF_UNIX_GETPEERPID,
            ptr::null(),
            0,
            (&raw mut pid).cast(),
            4,
            &raw mut count,
            ptr::null_mut(),
            None,
        )
    };
    (status == 0 && count == 4 && pid != 0).then_some(pid)
}

fn made(address: &Address) -> io::Result<OwnedSocket> {
    start_library()?;
    // SAFETY: the library has started; no provider is named and no group.
    owned(unsafe {
        WSASocketW(
            address.number().into(),
            SOCK_STREAM,
            0,
            ptr::null(),
            0,
            WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT,
        )
    })
}

/// Waits for a pending connection.
fn finish(socket: &OwnedSocket, event: &Event, deadline: Instant) -> io::Result<()> {
    let mut events = WaitSet::new();
    events.add(Some(event));
    let left = deadline.saturating_duration_since(Instant::now());
    if events.wait(Some(whole_millis(left)))?.is_none() {
        return Err(io::Error::from_raw_os_error(WSAETIMEDOUT));
    }
    let found = network_events(socket, event)?;
    match found.iErrorCode[FD_CONNECT_BIT as usize] {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Makes a connected socket equal to every other: without the event that an accepted one inherits from its listener,
/// and blocking again, as an event turns that off. Overlapped operations never block in either mode.
fn ready(socket: &OwnedSocket, family: Family) -> io::Result<()> {
    select(socket, None, 0)?;
    let mut no = 0;
    // SAFETY: the socket is open, and the number outlives the call.
    checked(unsafe { ioctlsocket(number(socket), FIONBIO, &raw mut no) })?;
    match family {
        // One write sends all queued output: there is nothing to wait for.
        Family::Tcp => set(socket, IPPROTO_TCP, TCP_NODELAY, 1),
        Family::Unix => Ok(()),
    }
}

fn select(socket: &OwnedSocket, event: Option<&Event>, what: u32) -> io::Result<()> {
    let event = event.map_or(0, event_number);
    // SAFETY: the socket and the event are open; the system keeps the event's object by itself.
    checked(unsafe { WSAEventSelect(number(socket), event, what.cast_signed()) })
}

/// Returns the events since the last time, and resets the event.
fn network_events(socket: &OwnedSocket, event: &Event) -> io::Result<WSANETWORKEVENTS> {
    let mut found = WSANETWORKEVENTS::default();
    // SAFETY: the socket and the event are open, and the structure outlives the call.
    checked(unsafe { WSAEnumNetworkEvents(number(socket), event_number(event), &raw mut found) })?;
    Ok(found)
}

fn set(socket: &OwnedSocket, level: i32, option: i32, value: i32) -> io::Result<()> {
    let start = ptr::from_ref(&value).cast();
    // SAFETY: the socket is open, and the number has four bytes and outlives the call.
    checked(unsafe { setsockopt(number(socket), level, option, start, 4) })
}

/// Starts the library, once for the process: it is never stopped, since sockets are closed until its end.
fn start_library() -> io::Result<()> {
    static STARTED: OnceLock<i32> = OnceLock::new();
    let start = || {
        let mut about = WSADATA::default();
        // SAFETY: the structure is ours and outlives the call.
        unsafe { WSAStartup(VERSION, &raw mut about) }
    };
    match STARTED.get_or_init(start) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(*code)),
    }
}

fn owned(socket: SOCKET) -> io::Result<OwnedSocket> {
    if socket == INVALID_SOCKET {
        return Err(last_error());
    }
    let number = u64::try_from(socket).expect("a handle's size");
    // SAFETY: the socket was just made and belongs to nobody else.
    Ok(unsafe { OwnedSocket::from_raw_socket(number) })
}

/// An event as Winsock has it.
fn event_number(event: &Event) -> WSAEVENT {
    event.raw().addr().cast_signed()
}

/// A socket as Winsock has it.
pub(super) fn number(socket: &OwnedSocket) -> SOCKET {
    usize::try_from(socket.as_raw_socket()).expect("a handle's size")
}

fn checked(result: i32) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

fn last_error() -> io::Error {
    // SAFETY: the function has no preconditions.
    io::Error::from_raw_os_error(unsafe { WSAGetLastError() })
}

fn is(error: &io::Error, code: i32) -> bool {
    error.raw_os_error() == Some(code)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn one_clients_socket_that_fails_is_not_the_listeners_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let socket = OwnedSocket::from(listener);
        let event = Event::auto_reset().unwrap();
        listen_for(&socket, &event).unwrap();
        let _clients = [(); 2].map(|()| TcpStream::connect(address).unwrap());
        let broken = |_: &OwnedSocket| Err(io::Error::from_raw_os_error(WSAECONNRESET));
        assert!(next_with(&socket, &event, broken).unwrap().is_none());
        let mut events = WaitSet::new();
        events.add(Some(&event));
        let status = events.wait(Some(30_000)).unwrap();
        assert!(status.is_some(), "the event tells of the second client");
        assert!(next(&socket, &event, Family::Tcp).unwrap().is_some());
    }
}
