//! One end of a connection: what is read from and written to.

use std::os::windows::io::{AsRawHandle, OwnedHandle, OwnedSocket, RawHandle};
use std::ptr;

use super::winsock::number;

/// A pipe or a connected socket, which is a handle as well
/// (<https://learn.microsoft.com/windows/win32/winsock/socket-handles-2>): what is pending on either ends the same way.
#[derive(Debug)]
pub(super) enum End {
    Pipe(OwnedHandle),
    Socket(OwnedSocket, Family),
}

/// What a socket is of.
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
