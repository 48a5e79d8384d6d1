//! The native way to WMI where nothing but objects in this process takes it: types in both directions,
//! waits, connections that die, error objects and what a library's user is told of them, and what is left
//! behind.

#![cfg(windows)]

mod builds;
mod conditions;
mod counts;
mod deaths;
mod echo;
mod errors;
mod hangs;
mod provider_fixture;
mod types;
mod waits;
