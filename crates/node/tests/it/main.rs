//! Each operation of a node, on a simulated one.

#![allow(
    clippy::module_inception,
    reason = "pages name tests by their module, such as `disks`"
)]

mod disks;
mod failures;
mod shares_and_services;
#[path = "../support/mod.rs"]
mod support;
mod volumes;
