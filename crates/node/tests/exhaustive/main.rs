//! Tests with hundreds of simulated nodes or a deep tree, apart from those that take seconds.
//! `crash.rs` is such a test too, in a program of its own since it takes as long as all these.

mod crash_initiator;
mod crash_paths;
mod deep_tree;
mod fixtures;
#[path = "../support/mod.rs"]
mod support;
