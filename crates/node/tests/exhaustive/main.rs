//! Tests with hundreds of simulated nodes or a deep tree, apart from those that take seconds.

mod crash;
mod crash_initiator;
mod crash_paths;
mod deep_tree;
mod fixtures;
#[path = "../support/mod.rs"]
mod support;
