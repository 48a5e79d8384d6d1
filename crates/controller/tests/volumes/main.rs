//! Volumes on a real Samba, with a man in the middle who cuts, and with links and records of others. Without Samba all of
//! it is red.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

extern crate smb as wincsi_smb;

mod attacks;
mod clones;
mod controllers;
mod cuts;
mod failing;
mod fixture;
mod model;
#[allow(dead_code, reason = "its other users are the client's tests")]
#[path = "../../../smb/tests/samba/proxy.rs"]
mod proxy;
mod rows;
#[allow(dead_code, reason = "its other users are the client's tests")]
#[path = "../../../smb/tests/samba/server.rs"]
mod server;
mod servers;
mod snapshots;
