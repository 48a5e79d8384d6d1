//! The served methods, each call of each version, and the pages about them.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

mod calls;
mod hangs;
mod initiator_and_services;
mod pages;
mod paths;
mod seeds;
#[path = "../support/mod.rs"]
mod support;
