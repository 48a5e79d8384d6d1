//! The client against a real Samba, first without and then with a man in the middle. Without Samba all of it is red.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod attacks;
mod locks;
mod operations;
mod proxy;
mod refusals;
mod server;
mod trees;
