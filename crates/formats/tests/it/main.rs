//! What the parsers make of recorded, of made and of damaged bytes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod clearance;
mod field;
mod gpt;
#[cfg(unix)]
mod mkfs;
mod seeds;
mod signatures;
#[cfg(unix)]
#[path = "../support/mod.rs"]
mod support;
