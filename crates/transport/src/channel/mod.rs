//! The client: blocking calls, each on a connection of its own for as long as it takes.
//!
//! Opening a pipe or a local socket takes microseconds, so concurrent calls do not share a
//! connection: a call takes an idle one or opens another, drives it on the caller's own thread, and
//! puts it back. A channel has no thread and hands nothing over, and a slow call delays no other.

mod connection;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use self::connection::{ClientConnection, Exchange};
use crate::sys::{ServerOwner, Stream};
use crate::{Code, Endpoint, Owner, Status};

/// A client of one server. Clones share their idle connections.
#[derive(Clone, Debug)]
pub struct Channel(Arc<Shared>);

/// The limits and times of a channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelOptions {
    /// The most time for opening a connection, including the wait at a busy pipe or a full socket.
    pub connect_timeout: Duration,
    /// The largest response message, in bytes.
    pub max_message_bytes: usize,
    /// Connections kept for the next call.
    pub max_idle: usize,
    /// A header of each request, by its name in lower case, with its value
    /// ([`crate::ServerOptions::metadata`]).
    pub metadata: Option<(&'static str, &'static str)>,
    /// The owners that may serve the endpoint.
    pub owner: Owner,
    /// The trailer of an error to read ([`Status::trailer`]), by its name in lower case.
    pub trailer: Option<&'static str>,
}

/// Why a call did not bring a response.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with a status other than OK.
    #[error(transparent)]
    Status(#[from] Status),
    /// No connection could be opened: the server has not seen the call.
    #[error("cannot connect to {endpoint}: {source}")]
    Connect {
        /// The endpoint dialled.
        endpoint: Endpoint,
        /// The system's error.
        source: io::Error,
    },
    /// The endpoint's owner is not trusted to serve it ([`Owner`]). Nothing was sent.
    #[error("{endpoint} belongs to {owner}, who is not trusted to serve it: nothing was sent")]
    ForeignOwner {
        /// The endpoint dialled.
        endpoint: Endpoint,
        /// Its owner: a pipe's SID, a socket's `user` with its number.
        owner: String,
    },
    /// The deadline passed. The server may go on with the call.
    #[error("no answer from {endpoint} to {method} before the deadline")]
    Deadline {
        /// The endpoint called.
        endpoint: Endpoint,
        /// The method called.
        method: String,
    },
    /// The connection broke before the answer came. The server may have run the call.
    #[error("the connection to {endpoint} broke: {reason}")]
    Broken {
        /// The endpoint called.
        endpoint: Endpoint,
        /// How the connection failed.
        reason: String,
    },
}

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    options: ChannelOptions,
    idle: Mutex<Vec<ClientConnection>>,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            max_message_bytes: 4 << 20,
            max_idle: 8,
            metadata: None,
            owner: Owner::Administrators,
            trailer: None,
        }
    }
}

impl Channel {
    /// Opens a first connection, so a missing server is noticed at once.
    ///
    /// # Errors
    /// [`CallError::Connect`], [`CallError::ForeignOwner`].
    pub fn connect(endpoint: Endpoint, options: ChannelOptions) -> Result<Self, CallError> {
        let shared = Shared {
            endpoint,
            options,
            idle: Mutex::default(),
        };
        let connection = shared.open(Instant::now() + shared.options.connect_timeout)?;
        shared.put_back(connection);
        Ok(Self(Arc::new(shared)))
    }

    /// Calls `method` (`/v1.Disk/PartitionDisk`) with an encoded message and waits for the
    /// encoded response, at most until `deadline`.
    ///
    /// # Errors
    /// See [`CallError`]. A call is repeated on another connection only when the server has
    /// certainly not begun it.
    pub fn call(
        &self,
        method: &str,
        message: &[u8],
        deadline: Instant,
    ) -> Result<Vec<u8>, CallError> {
        let shared = &*self.0;
        loop {
            let (mut connection, is_fresh) = shared.connection(deadline)?;
            match connection.call(method, message, deadline, &shared.options) {
                Exchange::Answer(message) => {
                    shared.put_back(connection);
                    return Ok(message);
                }
                Exchange::Status(status) => {
                    if status.code != Code::ResourceExhausted {
                        shared.put_back(connection);
                    }
                    return Err(status.into());
                }
                Exchange::NotBegun(_) if !is_fresh => {}
                Exchange::NotBegun(reason) | Exchange::Broken(reason) => {
                    return Err(CallError::Broken {
                        endpoint: shared.endpoint.clone(),
                        reason,
                    });
                }
                Exchange::Deadline => return Err(shared.deadline(method)),
            }
        }
    }

    /// Where the server is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }
}

impl Shared {
    /// An idle, still usable connection or a new one, and whether it is new.
    fn connection(&self, deadline: Instant) -> Result<(ClientConnection, bool), CallError> {
        loop {
            let Some(mut connection) = self.idle().pop() else {
                let patience = Instant::now() + self.options.connect_timeout;
                return self
                    .open(deadline.min(patience))
                    .map(|connection| (connection, true));
            };
            if connection.is_good() {
                return Ok((connection, false));
            }
        }
    }

    fn open(&self, deadline: Instant) -> Result<ClientConnection, CallError> {
        let failed = |source| CallError::Connect {
            endpoint: self.endpoint.clone(),
            source,
        };
        let stream = Stream::connect(&self.endpoint, deadline).map_err(failed)?;
        match self.options.owner {
            Owner::Administrators => self.check_owner(&stream, |owner| owner.is_trusted)?,
            Owner::AdministratorsOrOwnUser => {
                self.check_owner(&stream, |owner| owner.is_trusted || owner.is_own_user)?;
            }
            Owner::Any => {}
        }
        ClientConnection::open(stream, self.options.max_message_bytes).map_err(failed)
    }

    /// An unreadable owner is not trusted: an account that may open a pipe for reading may read its owner too
    /// (`FILE_GENERIC_READ` has `READ_CONTROL`), so only an unusual pipe hides it.
    fn check_owner(
        &self,
        stream: &Stream,
        is_trusted: fn(&ServerOwner) -> bool,
    ) -> Result<(), CallError> {
        let endpoint = self.endpoint.clone();
        match stream.server_owner(&endpoint) {
            Ok(owner) if is_trusted(&owner) => Ok(()),
            Ok(ServerOwner { name: owner, .. }) => Err(CallError::ForeignOwner { endpoint, owner }),
            Err(error) => Err(CallError::Connect {
                endpoint,
                source: io::Error::other(format!("cannot read its owner: {error}")),
            }),
        }
    }

    fn put_back(&self, connection: ClientConnection) {
        let mut idle = self.idle();
        if idle.len() < self.options.max_idle {
            idle.push(connection);
        }
    }

    fn deadline(&self, method: &str) -> CallError {
        CallError::Deadline {
            endpoint: self.endpoint.clone(),
            method: method.to_owned(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<ClientConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
