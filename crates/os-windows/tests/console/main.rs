//! The console's requests to end, each raised in a process of its own.

use std::process::ExitCode;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

fn main() -> ExitCode {
    platform::main()
}
