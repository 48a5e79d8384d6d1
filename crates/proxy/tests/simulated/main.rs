//! What is the same on each system: clients' paths on simulated files, and the pages about the calls.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

mod pages;
mod paths;
#[path = "../support/mod.rs"]
mod support;
