//! Clients' paths on random trees, and at random moments; `paths` has the particular cases.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]
#![allow(dead_code, reason = "it shares helpers with `paths`")]

#[path = "paths/attack.rs"]
mod attack;
#[path = "paths/fixture.rs"]
mod fixture;
#[path = "paths/random.rs"]
mod random;
#[path = "paths/random_swaps.rs"]
mod random_swaps;
#[path = "paths/sentry.rs"]
mod sentry;
