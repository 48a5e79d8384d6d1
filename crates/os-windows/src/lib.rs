//! The seam `os` over Windows itself, every facility of it ([`node()`]), and life as a service.
//!
//! This crate is empty elsewhere. It is the one place with `unsafe` that ships beside the pipe shim of
//! `transport`: the modules of `raw` turn each Win32 call, those of `wmi::com` each COM call, into a safe function with
//! a code as its error, and everything above them is ordinary Rust. Handles and searches are values that close
//! themselves; paths go out in their verbatim form (`\\?\`), so neither length nor Win32's reading of names changes the
//! path between check and use. Only the calls on mounted folders get a plain path, if it is short enough and Win32
//! reads it as the same.

#![cfg(windows)]

pub mod installation;

mod af_unix;
mod boot;
mod clock;
mod console;
mod disks;
mod event_log;
mod failure;
mod files;
mod firmware;
mod held;
mod libraries;
mod node;
mod process;
mod raw;
mod reach;
mod service;
mod services;
mod volumes;
mod wide;
mod wmi;

pub use af_unix::NativeAfUnix;
pub use boot::NativeBoot;
pub use clock::NativeClock;
pub use console::EndRequests;
pub use disks::NativeDisks;
pub use event_log::NativeEventLog;
pub use files::NativeFiles;
pub use firmware::NativeFirmware;
pub use libraries::search_system32_only;
pub use node::node;
pub use process::{ProcessUsage, process_usage};
pub use service::{SERVICE_NAME, ServiceError, ServiceHandle, run_as_service};
pub use services::NativeServices;
pub use volumes::NativeVolumes;
pub use wmi::{Connect, LocalMachine, MethodCall, NativeProvider};
