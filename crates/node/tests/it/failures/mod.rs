//! Calls that fail, hang or die, and their leftovers.

mod crash_mounted_folder;
mod crash_services;
mod errors;
mod hangs;
mod nulls;
