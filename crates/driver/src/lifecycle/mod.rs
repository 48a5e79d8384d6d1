//! `wincsi node drain` and `wincsi node deregister`: how a driver ends without taking a call or its registration with it.
//!
//! SIGTERM gives a HostProcess container five seconds, whatever the grace period; only `preStop` has that time
//! (microsoft/hcsshim, `internal/jobcontainers`). So `drain` is for `preStop`. It reaches the running driver by an RPC of
//! our own on the socket of CSI, whose folder is closed to all but administrators: a signal, an event or a file would be
//! another object to protect, and could not return what was left.

mod deregister;
mod drain;

use transport::{CallError, Channel, ChannelOptions, Endpoint, Owner};

pub use self::deregister::{DeregisterError, deregister};
pub use self::drain::{Drained, drain, serve};

/// A channel to a driver of this node.
fn channel(endpoint: Endpoint) -> Result<Channel, CallError> {
    let mut options = ChannelOptions::default();
    // The system reports no owner of a tcp port, which is for tests.
    if matches!(endpoint, Endpoint::Tcp(_)) {
        options.owner = Owner::Any;
    }
    Channel::connect(endpoint, options)
}
