//! The client against scripted proxies, and against a proxy with a simulated node.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod disk_versions;
mod failures;
mod negotiation;
mod other_versions;
mod restart;
mod simulated;
#[path = "../support/mod.rs"]
mod support;
