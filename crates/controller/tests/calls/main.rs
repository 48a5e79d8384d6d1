//! The requests of CSI: what is refused without a server, and what a real Samba has afterwards. Without Samba some are
//! red.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]
#![allow(
    clippy::field_reassign_with_default,
    reason = "requests wipe their secrets, and cannot be taken apart"
)]

extern crate smb as wincsi_smb;

mod clones;
mod fixture;
mod handles;
mod life;
mod program;
#[allow(dead_code, reason = "the client's tests need more of it")]
#[path = "../../../smb/tests/samba/proxy.rs"]
mod proxy;
mod refused;
mod relay;
#[allow(dead_code, reason = "the client's tests need more of it")]
#[path = "../../../smb/tests/samba/server.rs"]
mod server;
mod snapshots;
mod users;
