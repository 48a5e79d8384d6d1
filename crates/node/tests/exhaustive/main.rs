//! What takes hundreds of simulated nodes or a deep tree, apart from what takes seconds.
//! So does `crash.rs`, a program of its own since it takes as long as all these.

mod crash_initiator;
mod crash_paths;
mod deep_tree;
mod fixtures;
#[path = "../support/mod.rs"]
mod support;
