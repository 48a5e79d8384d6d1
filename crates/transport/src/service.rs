//! A service for a server, and the call it gets.

use std::path::PathBuf;
use std::time::Instant;
use std::{fmt, process};

use bytes::Bytes;

use crate::{Endpoint, Status};

/// Answers the calls of one endpoint.
///
/// `call` may block: it runs on a pool thread, and a call that takes longer than 15 to 30
/// milliseconds delays no other call, on its connection or elsewhere. A panic in it is caught,
/// logged and answered as `Internal`.
pub trait Service: Send + Sync + 'static {
    /// Answers one call with the encoded response message.
    ///
    /// An unknown method is [`Status::unimplemented`].
    ///
    /// # Errors
    /// The status for the client.
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status>;

    /// The service's group, by any name: each group has a reserve of running calls
    /// ([`crate::ServerOptions::reserved_calls`]).
    fn group(&self) -> &str {
        ""
    }
}

/// One unary call. Its debug form has the message's length alone, because it may hold a password.
#[derive(Clone)]
#[non_exhaustive]
pub struct Call {
    /// The called method.
    pub method: MethodPath,
    /// The encoded request message, without gRPC's five-byte prefix.
    pub message: Bytes,
    /// The value of the one header chosen by [`crate::ServerOptions::metadata`], if the client sent it.
    pub metadata: Option<Box<str>>,
    /// The caller.
    pub peer: Peer,
    /// When the client gets DeadlineExceeded, even if the service goes on.
    pub deadline: Instant,
    /// Where the call came in.
    pub endpoint: Endpoint,
}

/// A method as HTTP/2's `:path` names it: `/v1.Disk/PartitionDisk`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MethodPath(Box<str>);

/// The process at the other end of a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Peer {
    /// Its process id, if the system reported it.
    pub pid: Option<u32>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("message_bytes", &self.message.len())
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

impl Call {
    /// A call without a client, to run a [`Service`] without a server. `None` when no method can have such a path.
    pub fn in_process(method: &str, message: Bytes, deadline: Instant) -> Option<Self> {
        Some(Self {
            method: MethodPath::new(&method.parse().ok()?),
            message,
            metadata: None,
            peer: Peer::default(),
            deadline,
            endpoint: Endpoint::Socket(PathBuf::new()),
        })
    }
}

impl MethodPath {
    /// A copy: h2's path is a slice of the buffer of its whole header block.
    pub(crate) fn new(path: &http::uri::PathAndQuery) -> Self {
        Self(path.as_str().into())
    }

    /// The whole path, with its leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The service's full name, `v1.Disk`; empty when the path has another form.
    pub fn service(&self) -> &str {
        self.parts().0
    }

    /// The method's name, `PartitionDisk`; empty when the path has another form.
    pub fn method(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.as_str()
            .strip_prefix('/')
            .and_then(|path| path.rsplit_once('/'))
            .unwrap_or(("", ""))
    }
}

impl fmt::Display for MethodPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Peer {
    /// Whether it is this very process; false if the system does not report the peer.
    #[must_use]
    pub fn is_this_process(self) -> bool {
        self.pid == Some(process::id())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("an unknown process"),
        }
    }
}
