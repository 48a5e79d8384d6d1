//! Copies on a real Samba. Without Samba all of it is red.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod changes;
mod equal;
mod fixture;
mod links;
mod resumed;

#[path = "../samba/proxy.rs"]
mod proxy;
#[path = "../samba/server.rs"]
mod server;
