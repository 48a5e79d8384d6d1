//! Volumes that are shares, as kubelet drives them, on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod crash;
mod crowd;
mod deadlines;
#[path = "../deaths/mod.rs"]
mod deaths;
mod doctor;
mod fixture;
mod folders;
mod ill_servers;
mod inline;
mod leases;
mod life;
mod others;
mod random;
mod renewal;
mod servers;
mod strangers;
mod strays;
#[path = "../support/mod.rs"]
mod support;
mod takeover;
mod upstream;
mod users;

use self::fixture::Host;

/// tests/share_pipes.rs runs the cases that need no more than csi-proxy's pipes have.
const HOST: Host = Host::InProcess;
