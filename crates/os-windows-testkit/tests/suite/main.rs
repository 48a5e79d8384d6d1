//! The behaviour suite against the native way to WMI, with a simulated node behind it.

// The workbench is that of os-sim's own suite; it names its crate by the long name.
extern crate os_sim as wincsi_os_sim;

use std::process::ExitCode;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

fn main() -> ExitCode {
    platform::main()
}
