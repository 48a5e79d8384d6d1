//! The program `wincsi node` on tcp, and kubelet's calls to it: the one that operators start, on a simulated node.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod driver;
mod format;
mod handles;
mod kubelet;
mod life;
mod log;
mod paths;
mod secrets;
