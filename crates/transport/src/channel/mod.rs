//! The client: blocking calls, each on a connection of its own for as long as it takes.
//!
//! A pipe or a local socket is opened in microseconds, so calls that run at the same time do not
//! share a connection: a call takes an idle one or opens another, drives it on the caller's own
//! thread, and puts it back. There is no thread behind a channel, nothing to hand over, and a slow
//! call holds up no other.

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
    /// How long opening a connection may take, a busy pipe or a socket whose server has no room included.
    pub connect_timeout: Duration,
    /// The largest response message, in bytes.
    pub max_message_bytes: usize,
    /// Connections that are kept for the next call.
    pub max_idle: usize,
    /// A header that each request has, by its name in lower case, with its value
    /// ([`crate::ServerOptions::metadata`]).
    pub metadata: Option<(&'static str, &'static str)>,
    /// Whose endpoint is called.
    pub owner: Owner,
    /// The trailer of an error that is read ([`Status::trailer`]), by its name in lower case.
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
        /// To where.
        endpoint: Endpoint,
        /// What the system said.
        source: io::Error,
    },
    /// The endpoint belongs to somebody who is not expected to serve it ([`Owner`]). Nothing was sent.
    #[error("{endpoint} belongs to {owner}, who is not trusted to serve it: nothing was sent")]
    ForeignOwner {
        /// Which endpoint.
        endpoint: Endpoint,
        /// Whose it is: a pipe's SID, a socket's `user` with its number.
        owner: String,
    },
    /// The deadline passed. The server may go on with the call.
    #[error("no answer from {endpoint} to {method} before the deadline")]
    Deadline {
        /// Who was called.
        endpoint: Endpoint,
        /// What was called.
        method: String,
    },
    /// The connection broke before the answer came. The server may have run the call.
    #[error("the connection to {endpoint} broke: {reason}")]
    Broken {
        /// To where.
        endpoint: Endpoint,
        /// How.
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
    /// Opens a first connection, so that a server that is not there is noticed at once.
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
    /// An idle connection that is still good, or a new one; and whether it is new.
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
            Owner::Administrators => self.check_owner(&stream)?,
            Owner::Any => {}
        }
        ClientConnection::open(stream, self.options.max_message_bytes).map_err(failed)
    }

    /// An owner that cannot be read is no trusted one: an account that may open a pipe for reading may read it
    /// (`FILE_GENERIC_READ` has `READ_CONTROL`), so that only a pipe of a strange kind keeps it back.
    fn check_owner(&self, stream: &Stream) -> Result<(), CallError> {
        let endpoint = self.endpoint.clone();
        match stream.server_owner(&endpoint) {
            Ok(owner) if owner.is_trusted => Ok(()),
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
