//! The served methods, and each call of each version, over the wire.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

mod calls;
mod hangs;
mod initiator_and_services;
#[path = "../support/mod.rs"]
mod support;
