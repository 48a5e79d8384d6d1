//! The tests of docs/guide.md, more of its driver's calls, in process and over sockets, and its commands.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

include!("../stage.rs");

mod calls;
// The commands are for a shell of Linux.
#[cfg(not(windows))]
mod page;
// On Windows csi-proxy serves pipes.
#[cfg(not(windows))]
mod sockets;
