use std::error::Error;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

#[path = "cases.rs"]
mod cases;
#[path = "controller.rs"]
mod controller;
#[path = "servant.rs"]
mod servant;
#[path = "wire.rs"]
mod wire;

/// Runs the cases; or is the service of one of them, when the service control manager starts it.
///
/// One after the other: under Wine a process takes any starting service for its own.
pub(crate) fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(servant::FLAG) {
        return servant::main(arguments);
    }
    let trials = cases::ALL.iter().map(|(name, case)| {
        Trial::test(*name, move || {
            Ok(case().map_err(|error| with_causes(&*error))?)
        })
    });
    let one_at_a_time = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    libtest_mimic::run(&one_at_a_time, trials.collect()).exit_code()
}

fn with_causes(error: &(dyn Error + 'static)) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}
