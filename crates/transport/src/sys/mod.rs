//! The operating system's part: streams, listeners, waiting, and watching what is parked.
//!
//! Both systems offer the same names with the same meaning, so that everything above is one code:
//!
//! - [`Wakeup`]: an event of a thread that others set.
//! - [`listen`]: makes the [`Listener`]s of one endpoint.
//! - [`Stream`]: a connected pipe or socket. Reads and writes never block; what cannot be done at
//!   once is left pending and is waited for through [`Handles`].
//! - [`Listener`]: accepts without blocking.
//! - [`Watcher`] and [`Watch`]: call back once a stream or listener is ready or a time is over,
//!   without a thread for each.
//!
//! # Endpoints
//! An endpoint is a pipe, a Unix socket or a tcp port of the loopback interface. On Windows, Unix sockets and tcp have one
//! code (`winsock`), with the buffers, events and endings of the pipes (`operation`). Wine has no Unix sockets, and
//! executes all of that code but the address of a path and what a path needs (`socket_file`); these are cases of
//! `windows-suite`.
//!
//! A server closes a folder of sockets that is its own before it makes one there, and changes nothing of another's
//! (`ServerOptions::socket_folder`). It inspects old sockets without opening them, and removes one that nobody answers.
//! From that inspection until it listens it holds the folder by a lock on the folder's own handle, without a file: other
//! servers that start wait for it, since a socket that is bound and does not listen looks like an old one.
//!
//! The system reports no process for a client that comes by tcp, so that all of them are one client ([`Identity`]).

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

/// Which file a Unix socket is. While a socket is served, no other has its id, also when its file was removed: so Linux
/// has it, where the server keeps the inode; of Windows it is not known.
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

/// The identity of the socket at a path, unless none is there.
pub(crate) fn socket_id(path: &Path) -> io::Result<Option<SocketId>> {
    Ok(SocketFile::at(path)?.map(|file| SocketId(file.id())))
}

/// Takes the clients of an endpoint.
pub(crate) type Listener = Box<dyn Accepts>;

/// Who is at the other end of a connection, as far as shares and turns go ([`crate::server`]).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) enum Identity {
    Process(u32),
    /// A client that came by tcp. The system reports no process of it, and the client chooses address and
    /// port: so they are one client together, or a share would keep nobody from anything.
    Tcp,
    /// Nobody whom the system tells: each is a client by itself.
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
    /// By a process id, where the system told it.
    fn from(pid: Option<u32>) -> Self {
        pid.map_or(Self::Unknown, Self::Process)
    }
}

/// An account, as the system tells one from another.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct UserId(Box<[u8]>);

impl UserId {
    pub(crate) fn new(id: &[u8]) -> Self {
        Self(id.into())
    }
}

/// Who has the endpoint that a client is connected to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerOwner {
    pub(crate) name: String,
    /// It is one of [`crate::Owner::Administrators`].
    pub(crate) is_trusted: bool,
}

impl ServerOwner {
    /// Who listens on a tcp port: the system does not tell.
    pub(crate) fn unknown() -> Self {
        let name = "an unknown process".to_owned();
        let is_trusted = false;
        Self { name, is_trusted }
    }
}

/// What a thread waits for, or what it got.
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

/// What [`wait`] can wait for.
pub(crate) trait Waitable {
    fn handles(&self) -> &Handles;
    fn interest(&self) -> Interest;
}

/// Takes clients.
pub(crate) trait Accepts: Send + fmt::Debug {
    fn handles(&self) -> Handles;
    fn interest(&self) -> Interest;
    /// The next client, or None when there is none yet. Does not block.
    fn accept(&mut self) -> io::Result<Option<Stream>>;
}

/// What a read brought.
#[derive(Debug)]
pub(crate) enum Read<'a> {
    /// These bytes, at least one; valid until the next call.
    Data(&'a [u8]),
    /// Nothing yet.
    Pending,
    /// The peer is gone.
    Closed,
}

/// What became of output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Written {
    /// Everything is with the system.
    All,
    /// Some of it is on its way; `progress` tells whether any went since the last call.
    Pending { progress: bool },
}

/// Told by a [`Watch`] that its object wants attention. Called on a thread of the system's or the
/// watcher's, so it must be brief and must not block.
pub(crate) trait Ready: Send + Sync + 'static {
    fn ready(self: Arc<Self>);
}

/// Shared by the watchers of both systems.
pub(crate) type Target = Arc<dyn Ready>;
