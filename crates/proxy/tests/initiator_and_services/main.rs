//! The groups iscsi and system over the wire, every RPC of every version, on a simulated node.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

mod fixture;
mod iscsi;
#[path = "../support/mod.rs"]
mod support;
mod system;
