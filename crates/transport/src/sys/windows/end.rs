//! One end of a connection, to read from and write to.

use std::os::windows::io::{AsRawHandle, OwnedHandle, OwnedSocket, RawHandle};
use std::ptr;

use super::winsock::number;

/// A pipe or a connected socket, a handle as well
/// (<https://learn.microsoft.com/windows/win32/winsock/socket-handles-2>): pending operations on both end the same way.
#[derive(Debug)]
pub(super) enum End {
    Pipe(OwnedHandle),
    Socket(OwnedSocket, Family),
}

/// The address family of a socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Family {
    Unix,
    Tcp,
}

impl End {
    /// The handle, valid as long as `self`.
    pub(super) fn raw(&self) -> RawHandle {
        match self {
            Self::Pipe(pipe) => pipe.as_raw_handle(),
            Self::Socket(socket, _) => ptr::without_provenance_mut(number(socket)),
        }
    }
}
