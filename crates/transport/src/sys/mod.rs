//! The operating system's part: streams, listeners, waiting, and watching what is parked.
//!
//! Both systems offer the same names with the same meaning, so that everything above is one code:
//!
//! - [`Wakeup`]: an event of a thread that others set.
//! - [`Stream`]: a connected pipe or socket. Reads and writes never block; what cannot be done at
//!   once is left pending and is waited for through [`Handles`].
//! - [`Listener`]: accepts without blocking.
//! - [`Watcher`] and [`Watch`]: call back once a stream or listener is ready or a time is over,
//!   without a thread for each.

use std::sync::Arc;
use std::{fmt, io};

#[cfg_attr(windows, path = "windows/mod.rs")]
#[cfg_attr(not(windows), path = "unix/mod.rs")]
mod os;

pub(crate) use os::{
    Handles, Listener, Stream, Wakeup, Watch, Watcher, local_endpoint, thread_may_end, wait,
};

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

/// Takes clients; a [`Listener`] does.
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
