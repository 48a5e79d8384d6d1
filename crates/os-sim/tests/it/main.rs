//! The simulated node by itself.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod faults;
mod folder;
mod format;
mod gate;
mod profiles;
mod spanned;
mod storage;
#[path = "../support/mod.rs"]
mod support;
mod volume_life;
