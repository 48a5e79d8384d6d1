//! Requests for shares, what calls cost the node, and the pages about the driver.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod costs;
mod pages;
mod seeds;
mod share_requests;
