//! Clients' paths, over the wire and on a simulated node: the forms of texts, the links on the path, and that nothing
//! outside the working folders is ever touched. Random trees are in `random_paths.rs`, a program of its own since it
//! takes long.

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
