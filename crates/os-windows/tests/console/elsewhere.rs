use std::process::ExitCode;

use libtest_mimic::Arguments;

/// The crate is empty here, and so is its suite.
pub(crate) fn main() -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), Vec::new()).exit_code()
}
