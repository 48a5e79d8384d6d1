//! The tests of endpoints, on the system's own kind: Unix sockets, or pipes.

#[path = "each/bad_input.rs"]
mod bad_input;
#[path = "each/budget.rs"]
mod budget;
#[path = "each/calls.rs"]
mod calls;
#[path = "each/connections.rs"]
mod connections;
#[path = "each/idle.rs"]
mod idle;
#[path = "../support/mod.rs"]
pub(crate) mod support;
