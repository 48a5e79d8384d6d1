//! Requests for shares, and the pages about the driver.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod pages;
mod share_requests;
