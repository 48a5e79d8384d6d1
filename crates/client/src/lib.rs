//! The operations of a Windows node, spoken over csi-proxy's pipes, to our proxy or the Go one.
//!
//! A driver in an ordinary container may not touch the node's disks itself and asks csi-proxy. With
//! this crate it does so through the same traits, types and errors as with the library in its own
//! process, [`node::api`]: what is chosen by the one line that makes the handle.
//!
//! Drivers use it through the crate `wincsi`, with the feature `pipes`, whose page has an example.
//!
//! The pages of [`node`] and [`node::api`] say what the operations do, and what deadlines, errors, locks and
//! repetition mean. Disks that Windows runs from are the proxy's affair: ours refuses to write them. What is not
//! blank is not overwritten, as in process: each call asks our proxy to be strict, whatever its `-format-guard` says
//! ([`wire::FORMAT_GUARD`]), and a volume is formatted only after the proxy answered that it is not. The Go proxy
//! knows no more than that answer: it formats a volume with a filesystem that Windows does not know.
//!
//! # Versions
//! csi-proxy has no negotiation: each group in each version is a pipe of its own, and which of them
//! exist depends on the proxy's age. A [`Node`] opens the newest pipe that exists of each group, and
//! converts to and from its messages, so that a disk number is a disk number also where the wire says
//! `"1"`. A method that the version does not serve is looked for in older ones. What was found is
//! remembered and forgotten with the connection; when it is not the newest version there is, the newer
//! pipes are looked for again every now and then ([`Options::look_again`]), because a proxy creates
//! its pipes one by one.
//!
//! An operation that exists only in newer versions than the proxy's fails with
//! [`Cause::Unsupported`](node::api::Cause::Unsupported) and the version that is needed. What no version has is
//! a [`Feature`](node::api::Feature).
//!
//! # Errors
//! See [`node::api::Cause`]. Our server says the [`Condition`](node::api::Condition) of a failure in a trailer
//! ([`wire::CONDITION`]). csi-proxy has one code for every failure, and a text; the texts of its versions 1.1 to 1.3
//! and of ours are recognised. What the caller itself sent is left out of the text before
//! that, so that no path can be named after an error.
//!
//! # Deadlines
//! A call ends by its deadline, which the proxy is told too. What the proxy has begun by then goes on
//! there.
//!
//! # When the proxy restarts
//! A call that has certainly not begun waits for the proxy to come back, for [`Options::patience`] or
//! its deadline. When the connection breaks under a call, what only looks is asked once more; what
//! changes something is not, and fails with [`Cause::Lost`](node::api::Cause::Lost): the caller looks
//! at what is there and goes on from it, since every operation may be repeated.
//!
//! # Whose pipe it is
//! While csi-proxy does not run, any process of the machine may take the name of a pipe. So the owner of
//! each pipe is looked at before anything is sent, and one that is neither LocalSystem nor Administrators is an
//! error that names it ([`Unreachable::ForeignOwner`](node::api::Unreachable::ForeignOwner)). A proxy that
//! runs as another account is called with [`Options::owner`].
//!
//! # Secrets
//! Passwords and CHAP secrets are wiped in the request's message and in the buffer that it is encoded
//! to. What the transport copies on its way to the system is its own.
//!
//! # Features and targets
//! There are no features. Named pipes on Windows (`x86_64-pc-windows-gnu`, `x86_64-pc-windows-msvc`), Unix
//! sockets elsewhere, for tests against a simulated node.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod classify;
mod dialect;
mod failure;
mod groups;
mod pipes;
mod raw;
mod remote;

#[doc(hidden)]
pub use self::classify::words;
pub use self::raw::{Client, ClientCause, ClientError};
pub use self::remote::{ConditionSource, Node, Options};
pub use transport::{Endpoint, EndpointError, Owner};
pub use wire::Group;
