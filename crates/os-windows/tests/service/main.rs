//! A service's life under the service control manager.

use std::process::ExitCode;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

fn main() -> ExitCode {
    platform::main()
}
