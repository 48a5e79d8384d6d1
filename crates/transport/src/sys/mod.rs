//! The operating system's part: streams, listeners, waits, and watches of parked connections.
//!
//! Both systems offer the same names with the same meaning, so everything above is one code:
//!
//! - [`Wakeup`]: a thread's event, set by others.
//! - [`listen`]: makes the [`Listener`]s of one endpoint.
//! - [`Stream`]: a connected pipe or socket. Reads and writes never block; an operation that cannot
//!   finish at once stays pending, and [`Handles`] wait for it.
//! - [`Listener`]: accepts without blocking.
//! - [`Watcher`] and [`Watch`]: call back once a stream or listener is ready or a time is over,
//!   without a thread for each.
//!
//! # Endpoints
//! An endpoint is a pipe, a Unix socket or a tcp port of the loopback interface. On Windows, Unix sockets and tcp have
//! one code (`winsock`), with the buffers, events and endings of the pipes (`operation`). Wine has no Unix sockets, and
//! executes all of this code except the address of a path and the handling of its file (`socket_file`); these are cases
//! of `conformance`.
//!
//! A server closes its own folder of sockets before it makes one there, and changes nothing of another's
//! (`ServerOptions::socket_folder`). It inspects old sockets without opening them, and removes one if nobody answers.
//! From this inspection until it listens it holds the folder by a lock on the folder's own handle, without a file:
//! other starting servers wait for it, since a bound socket without a listener looks like an old one.
//!
//! The system reports no process for a tcp client, so all of them are one client ([`Identity`]).

mod folder;

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use self::folder::Unfit;
use self::os::{EntryId, SocketFile};
use crate::Peer;

#[cfg_attr(windows, path = "windows/mod.rs")]
#[cfg_attr(not(windows), path = "unix/mod.rs")]
mod os;

pub(crate) use os::{
    Handles, Stream, Wakeup, Watch, Watcher, close_folder, listen, local_endpoint, thread_may_end,
    wait,
};

/// The identity of a Unix socket's file. While a socket is served, no other has its id, even after its file was
/// removed: on Linux the server keeps the inode; for Windows it is not known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SocketId(EntryId);

/// Removes the socket at a path, and returns whether one was there.
pub(crate) fn remove_socket(path: &Path) -> io::Result<bool> {
    let Some(file) = SocketFile::at(path)? else {
        return Ok(false);
    };
    match file.foreign_owner() {
        Some(owner) => Err(Unfit::ForeignSocket(owner).into()),
        None => file.remove().map(|()| true),
    }
}

/// The identity of the socket at a path; `None` without one.
pub(crate) fn socket_id(path: &Path) -> io::Result<Option<SocketId>> {
    Ok(SocketFile::at(path)?.map(|file| SocketId(file.id())))
}

/// Takes the clients of an endpoint.
pub(crate) type Listener = Box<dyn Accepts>;

/// The other end of a connection, for shares and turns ([`crate::server`]).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Identity {
    Process(u32),
    /// Any tcp client. The system reports no process of it, and the client chooses address and port: so all are one
    /// client together, or a share would limit nobody.
    Tcp,
    /// Not reported by the system: each is a client by itself.
    #[default]
    Unknown,
}

impl Identity {
    pub(crate) fn peer(self) -> Peer {
        match self {
            Self::Process(pid) => Peer { pid: Some(pid) },
            Self::Tcp | Self::Unknown => Peer::default(),
        }
    }
}

impl From<Option<u32>> for Identity {
    /// By a process id, if the system reported it.
    fn from(pid: Option<u32>) -> Self {
        pid.map_or(Self::Unknown, Self::Process)
    }
}

/// An account, by the system's identifier.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct UserId(Box<[u8]>);

impl UserId {
    pub(crate) fn new(id: &[u8]) -> Self {
        Self(id.into())
    }
}

/// The owner of the endpoint that a client is connected to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerOwner {
    pub(crate) name: String,
    /// It is one of [`crate::Owner::Administrators`].
    pub(crate) is_trusted: bool,
    /// It is this process's user.
    pub(crate) is_own_user: bool,
}

impl ServerOwner {
    /// The owner of a tcp port: the system does not report it.
    pub(crate) fn unknown() -> Self {
        let name = "an unknown process".to_owned();
        Self {
            name,
            is_trusted: false,
            is_own_user: false,
        }
    }
}

/// Directions that a thread waits for, or got.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

impl Interest {
    pub(crate) const BOTH: Self = Self {
        read: true,
        write: true,
    };
}

/// An object for [`wait`].
pub(crate) trait Waitable {
    fn handles(&self) -> &Handles;
    fn interest(&self) -> Interest;
}

/// Accepts clients.
pub(crate) trait Accepts: Send + fmt::Debug {
    fn handles(&self) -> Handles;
    fn interest(&self) -> Interest;
    /// The next client, or None when there is none yet. Does not block.
    fn accept(&mut self) -> io::Result<Option<Stream>>;
}

/// The result of a read.
#[derive(Debug)]
pub(crate) enum Read<'a> {
    /// These bytes, at least one; valid until the next call.
    Data(&'a [u8]),
    Pending,
    /// The peer is gone.
    Closed,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Written {
    /// Everything is with the system.
    All,
    /// Some of it is on its way; `progress` is true if any went since the last call.
    Pending { progress: bool },
}

/// Notified by a [`Watch`] of an event on its object, on a thread of the system or the watcher: it
/// must be brief and must not block.
pub(crate) trait Ready: Send + Sync + 'static {
    fn ready(self: Arc<Self>);
}

/// Shared by the watchers of both systems.
pub(crate) type Target = Arc<dyn Ready>;
