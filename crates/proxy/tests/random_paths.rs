//! Clients' paths on random trees, and at random moments; `paths` has the particular cases.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]
#![allow(dead_code, reason = "it shares helpers with `paths`")]

#[path = "it/paths/attack.rs"]
mod attack;
#[path = "it/paths/fixture.rs"]
mod fixture;
#[path = "it/paths/random.rs"]
mod random;
#[path = "it/paths/random_swaps.rs"]
mod random_swaps;
#[path = "it/paths/sentry.rs"]
mod sentry;
mod support;
