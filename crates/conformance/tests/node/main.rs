//! The suite's own cases and experiments against the simulated node, and the running of a plan.

#[cfg(not(windows))]
mod experiments;
mod runs;
mod simulated;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use wincsi_conformance::cases;

/// One after the other: a case counts the handles of this process.
fn main() -> ExitCode {
    let one_at_a_time = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let own = cases::all().filter(|case| platform::has(case.name));
    let own = own.map(|case| {
        Trial::test(format!("simulator::{}", case.name), move || {
            let fixture = simulated::Simulated::new()?;
            Ok((case.run)(&fixture).map_err(|failure| failure.to_string())?)
        })
    });
    let trials = own.chain(platform::experiments()).chain(runs::trials());
    libtest_mimic::run(&one_at_a_time, trials.collect()).exit_code()
}
