//! Unary gRPC over named pipes, Unix sockets and loopback tcp, both ends, with blocking calls and no runtime.
//!
//! A [`Server`] answers the calls of any number of [`Endpoint`]s, each with a [`Service`] that takes and returns
//! encoded messages; a [`Channel`] calls. Messages are bytes here: the crate's users encode and decode them.
//!
//! ```
//! use std::{
//!     env, process,
//!     sync::Arc,
//!     time::{Duration, Instant},
//! };
//!
//! use transport::{
//!     Call, Channel, ChannelOptions, Endpoint, Server, ServerOptions, Service, Status,
//! };
//!
//! struct Shout;
//!
//! impl Service for Shout {
//!     fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
//!         match call.method.as_str() {
//!             "/v1.Echo/Shout" => Ok(call.message.to_ascii_uppercase()),
//!             _ => Err(Status::unimplemented(&call.method)),
//!         }
//!     }
//! }
//!
//! // `\\.\pipe\shout-...` on Windows, elsewhere a socket in this folder, which is made.
//! let name = format!("shout-{}", process::id());
//! let endpoint = Endpoint::local(&env::temp_dir().join(&name), &name)?;
//! let services = vec![(endpoint.clone(), Arc::new(Shout) as Arc<dyn Service>)];
//! let server = Server::bind(services, ServerOptions::default())?;
//!
//! let channel = Channel::connect(endpoint, ChannelOptions::default())?;
//! let deadline = Instant::now() + Duration::from_secs(30);
//! assert_eq!(channel.call("/v1.Echo/Shout", b"hello", deadline)?, b"HELLO");
//! let refused = channel.call("/v1.Echo/Whisper", b"hello", deadline).unwrap_err();
//! assert_eq!(
//!     refused.to_string(),
//!     "Unimplemented: unknown method Whisper for service v1.Echo"
//! );
//!
//! let report = server.shutdown(Duration::from_secs(5));
//! assert_eq!(report.abandoned_calls, 0);
//! # let _ = std::fs::remove_dir(env::temp_dir().join(&name));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who can call
//! Any gRPC client that speaks HTTP/2 without TLS over the pipe or socket. Go clients put the path of the pipe or
//! socket into `:authority`; h2 would refuse it, so [`authority`] drops it. Only the endpoint's security restricts
//! callers: a pipe's list ([`ServerOptions::security`]), a Unix socket's folder ([`SocketFolder`]). Remote clients of a
//! pipe are refused. A tcp port is open to every process of this machine and to no other machine: it is for tests, and
//! only an explicit endpoint opens one.
//!
//! Has run: pipes and tcp under Wine, Unix sockets and tcp on Linux. Unix sockets on Windows have not run; they share
//! the code of tcp except for the path, and the project's suite for real Windows tries that.
//!
//! # Per-client limits
//! A client is a process, with all its connections. The system reports the process behind a pipe or a Unix socket, on
//! Windows by `SIO_AF_UNIX_GETPEERPID`. For tcp it reports none without a search of all the machine's connections, and
//! a client picks its address and port. So all tcp connections together are one client, with one client's share of
//! connections, calls and time: a flood there takes nothing from pipes and sockets.
//!
//! # Limits
//! Unary calls alone: no streaming, no compression, of metadata one header of a request ([`ServerOptions::metadata`])
//! and one trailer of an error ([`Status::trailer`]). All other limits are [`ServerOptions`], and each has a default
//! fit for a node: 4 MiB for a message, 64 MiB for everything that clients can make the server hold together, 256
//! running calls, 512 waiting for others ([`Waiting`]), 4,096 connections. A connection beyond its limits is refused or
//! closed by itself; the others do not notice.
//!
//! # Threads
//! A call runs on the thread that read it. If it takes longer than some 15 to 30 milliseconds, another thread takes
//! over the other connections. A silent or idle connection costs no thread, and an idle server has a handful. The
//! modules `ownership` (who owns a connection when), `pool` (the threads), `conn::ending` (how a connection ends
//! without the loss of a call) and `server::eviction` (who makes room) have more.
//!
//! A call that waits for another one reports it ([`Waiting`]) and gives its place among the running calls back. It gets
//! the place again without a refusal. Waiting calls are bounded as well, and the pool has a thread for each. A service
//! names its group, and calls of other groups never take a group's reserved slots.
//!
//! # What always holds
//! - Nothing that outlives a turn (one pass of a thread over a connection) is a slice of a buffer of h2's.
//! - `Debug` output has no byte of a message.
//! - An accept is always pending: after a failure or a panic the server tries again after a while.
//! - Pipe handles and sockets are overlapped on both ends: on a synchronous handle a pending read blocks the write of a
//!   response.
//! - No thread waits only for a write.
//! - A buffer lives until the operation on it has really ended, cancelled or not.
//! - A panic costs its own connection and nothing else (`panics`).
//! - A client checks whose endpoint it has opened before it sends anything ([`Owner`]).
//!
//! # Errors
//! A service's error is a [`Status`] and reaches the client unchanged. This crate's own answers
//! have grpc-go's codes, and its words if it has any:
//!
//! | what happens | code |
//! |---|---|
//! | the service does not have the method ([`Status::unimplemented`]), or the request is compressed | `Unimplemented` |
//! | the message is over its limit, too many calls run, or the server holds too much | `ResourceExhausted` |
//! | the body is not one whole message, or the service panicked | `Internal` |
//! | the client's deadline or the server's own passed; the service goes on to its end | `DeadlineExceeded` |
//! | the server is shutting down | `Unavailable` |
//!
//! The server closes a connection that is not HTTP/2, breaks its rules or takes nothing for a
//! while. A caller of [`Channel::call`] sees [`CallError`]; a server that does not start reports
//! [`BindError`].

#[doc(hidden)]
pub mod assembly;
pub mod authority;
mod channel;
mod conn;
mod endpoint;
mod grpc;
mod options;
mod ownership;
mod panics;
mod pool;
mod port;
mod server;
mod service;
mod status;
mod sys;
mod throttle;
mod waiting;

pub use channel::*;
pub use endpoint::*;
pub use options::*;
pub use server::*;
pub use service::*;
pub use status::*;
pub use sys::SocketId;
pub use waiting::Waiting;

/// Makes a folder that only LocalSystem and Administrators enter, elsewhere only this user, as a server does with the
/// folder of its sockets ([`SocketFolder::Own`]). Closes an existing folder to others; on Windows its content inherits
/// this.
///
/// # Errors
/// The folder is a link, belongs to another account, or is open to others and has files of theirs; the system refuses.
pub fn close_folder(folder: &std::path::Path) -> std::io::Result<()> {
    sys::close_folder(folder)
}
