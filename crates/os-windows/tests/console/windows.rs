use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

#[path = "cases.rs"]
mod cases;
#[path = "raise.rs"]
mod raise;
#[path = "server.rs"]
mod server;

/// Runs the cases; or is the server of one of them.
pub(crate) fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(server::FLAG) {
        return server::main();
    }
    let trials = cases::ALL.iter().map(|(name, case)| {
        Trial::test(
            *name,
            move || Ok(case().map_err(|error| error.to_string())?),
        )
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
