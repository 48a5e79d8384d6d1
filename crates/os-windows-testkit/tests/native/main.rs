//! The native path to WMI, over objects in this process alone: types in both directions, waits, dying connections,
//! error objects and a library user's view of them, and leaks.

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
