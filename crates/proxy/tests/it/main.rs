//! The served methods, each call of each version over the wire, and what calls cost the node.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

mod calls;
mod costs;
mod hangs;
mod initiator_and_services;
#[path = "../support/mod.rs"]
mod support;
