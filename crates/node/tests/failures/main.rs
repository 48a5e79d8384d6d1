//! What fails, hangs or dies, and what is left then.

mod crash_mounted_folder;
mod crash_services;
mod errors;
mod hangs;
mod nulls;
#[path = "../support/mod.rs"]
mod support;
