//! Where paths of clients may lead, over the wire and on a simulated node: what a text may be, what
//! a link on the way may do, and that nothing outside the working folders is ever touched. Random trees
//! are in `random_paths.rs`, which is a program of its own since it takes long.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

#[allow(
    dead_code,
    reason = "the attacks at random moments are in random_paths.rs"
)]
mod attack;
mod fixture;
mod forms;
mod links;
mod lookups;
mod refusals;
mod roots;
mod sentry;
mod swaps;
