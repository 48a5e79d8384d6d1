use std::process::ExitCode;

use libtest_mimic::Arguments;

/// There is no native way to WMI here.
pub(crate) fn main() -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), Vec::new()).exit_code()
}
