//! A server and its clients. The tests in `each` run once on each kind of endpoint.

#![allow(
    clippy::duplicate_mod,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code, twice for each kind of endpoint"
)]

mod processes;
mod seeds;
mod stress;
mod system;
mod tcp;
