//! What fails, hangs or dies, and what is left then.

mod crash_mounted_folder;
mod crash_services;
mod errors;
mod hangs;
#[path = "../support/mod.rs"]
mod support;
