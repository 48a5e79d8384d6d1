//! Unary gRPC over named pipes and Unix sockets, both ends, with blocking calls and no runtime.
//!
//! A [`Server`] answers the calls of any number of [`Endpoint`]s, each with a [`Service`] that is
//! given encoded messages and returns them; a [`Channel`] calls. Messages are bytes here: whoever
//! uses this crate encodes and decodes them.
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
//! // `\\.\pipe\shout-...` on Windows, elsewhere a socket in this folder.
//! let endpoint = Endpoint::local(&env::temp_dir(), &format!("shout-{}", process::id()))?;
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
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who can call
//! Any gRPC client that speaks HTTP/2 without TLS over the pipe or socket. Go clients put the
//! pipe's path into `:authority`, which h2 would refuse; [`mend`] makes it acceptable. Only the
//! endpoint's security says who may connect ([`ServerOptions::security`]); remote clients of a pipe
//! are refused.
//!
//! # Limits
//! Unary calls alone: no streaming, no compression, of metadata one header of a request and one
//! trailer of an error. All other
//! limits are [`ServerOptions`], and each has a default fit for a node: 4 MiB for a message, 64 MiB
//! for all that clients can make the server hold together, 256 calls that run, 512 that wait for others ([`Waiting`]), 4,096 connections.
//! A connection beyond its limits is refused or closed by itself; the others do not notice.
//!
//! # Threads
//! A call runs on the thread that read it. Should it take longer than some 15 to 30
//! milliseconds, that thread's other connections are handed to another. A connection that is silent or idle costs no
//! thread, and an idle server has a handful. ARCHITECTURE.md of the repository tells more.
//!
//! # Errors
//! A service's error is a [`Status`] and reaches the client as it is. What this crate answers
//! itself has grpc-go's codes, and its words where it has some:
//!
//! | what happens | code |
//! |---|---|
//! | the service does not have the method ([`Status::unimplemented`]), or the request is compressed | `Unimplemented` |
//! | the message is over its limit, too many calls run, or the server holds too much | `ResourceExhausted` |
//! | the body is not one whole message, or the service panicked | `Internal` |
//! | the client's deadline or the server's own passed; the service goes on to its end | `DeadlineExceeded` |
//! | the server is shutting down | `Unavailable` |
//!
//! A connection that is not HTTP/2, breaks its rules or takes nothing for a while is closed. What
//! a caller of [`Channel::call`] can see is [`CallError`]; why a server does not start,
//! [`BindError`].

#[doc(hidden)]
pub mod assembly;
mod channel;
mod conn;
mod endpoint;
mod grpc;
mod link;
pub mod mend;
mod options;
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
pub use waiting::Waiting;
