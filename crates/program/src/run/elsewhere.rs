use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::{fs, process};

use super::{Program, Surroundings, Under};
use crate::flags::FlagError;
use crate::log;

/// No library is looked for in the program's folder here.
///
/// # Errors
/// None here.
pub fn restrict_libraries<P: Program>() -> Result<(), u8> {
    Ok(())
}

/// Whether standard output keeps nothing: where it is closed, the standard library has opened the null device.
pub fn is_output_lost() -> bool {
    let devices = ["/dev/stdout", "/dev/null"].map(|path| fs::metadata(path).map(|it| it.rdev()));
    matches!(devices, [Ok(output), Ok(null)] if output == null)
}

/// Serves until a signal ends the process. There is no service control manager here.
pub fn run<P: Program>(program: P) -> u8 {
    if program.settings().under == Under::ServiceManager {
        return super::complain::<P>(&NoManager);
    }
    match Signals::listen() {
        Ok(signals) => super::serve_in_console(&program, &signals),
        Err(error) => super::complain::<P>(&error),
    }
}

/// Ends a program with invalid flags.
pub fn refuse<P: Program>(_error: &FlagError, _arguments: &[String]) -> u8 {
    super::USAGE
}

#[derive(Debug, thiserror::Error)]
#[error("-windows-service needs Windows")]
struct NoManager;

#[expect(
    clippy::disallowed_methods,
    reason = "asked twice: nothing is to be waited for any more, a drain least of all"
)]
fn end_now() -> ! {
    tracing::warn!("asked a second time to end: calls in flight are left");
    log::flush();
    process::exit(super::FAILED.into())
}

/// Interrupt, termination and hang-up.
struct Signals(Mutex<Receiver<()>>);

impl Signals {
    /// `wait_for_end` returns at the first signal; a second one ends the process at once.
    fn listen() -> Result<Self, ctrlc::Error> {
        let (asked, requests) = mpsc::sync_channel(1);
        let mut is_first = true;
        ctrlc::set_handler(move || {
            if !std::mem::take(&mut is_first) {
                end_now();
            }
            // There is room for one, and no thread waits only if the end is under way.
            let _ = asked.try_send(());
        })?;
        Ok(Self(Mutex::new(requests)))
    }
}

impl Surroundings for Signals {
    fn wait_for_end(&self) {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The handler holds the other end for as long as the process lives.
        let _ = requests.recv();
    }
}
