//! Volumes that are shares, as kubelet drives them, on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod crash;
#[path = "../deaths/mod.rs"]
mod deaths;
mod fixture;
mod inline;
mod life;
mod random;
mod renewal;
mod users;
