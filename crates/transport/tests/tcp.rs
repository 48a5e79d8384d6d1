//! What holds on the system's own kind of endpoint holds on tcp: the same tests.

#![expect(
    clippy::duplicate_mod,
    reason = "each test file brings its support along, as it does by itself"
)]

#[path = "bad_input.rs"]
mod bad_input;
#[path = "budget.rs"]
mod budget;
#[path = "calls.rs"]
mod calls;
#[path = "connections.rs"]
mod connections;
#[path = "idle.rs"]
mod idle;
