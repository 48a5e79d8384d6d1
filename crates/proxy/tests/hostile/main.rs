//! Requests that no driver would send: every method, every field.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

mod bad_bytes;
mod fixture;
mod hostile_texts;
mod leaks;
mod messages;
mod ordinary;
#[cfg_attr(windows, path = "pace/windows.rs")]
#[cfg_attr(not(windows), path = "pace/elsewhere.rs")]
mod pace;
#[path = "../support/mod.rs"]
mod support;
