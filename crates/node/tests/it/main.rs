//! Each operation of a node, on a simulated one.

mod disks;
mod failures;
mod shares_and_services;
#[path = "../support/mod.rs"]
mod support;
mod volumes;
