use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::time::Duration;

use os::{Event, EventLevel, EventLog as _};
use os_windows::{EndRequests, NativeEventLog, ServiceError, ServiceHandle};

use super::{Program, Surroundings, Under};
use crate::flags::FlagError;

/// Limits the search for libraries to the system's, without the program's folder. The exe's imports are loaded by then:
/// for these `build.rs` sets the same.
///
/// # Errors
/// The program's exit status, when Windows refuses.
pub fn restrict_libraries<P: Program>() -> Result<(), u8> {
    os_windows::search_system32_only().map_err(|error| super::complain::<P>(&error))
}

/// Whether standard output keeps nothing, as there is none. The standard library fails no write to it.
pub fn is_output_lost() -> bool {
    io::stdout().as_raw_handle().is_null()
}

/// Serves until a request to end, or under the service control manager until its stop.
pub fn run<P: Program>(program: P) -> u8 {
    let settings = program.settings();
    if settings.under == Under::ServiceManager {
        let drain = settings.drain;
        return as_service::<P>(drain, move |service| {
            super::serve(&program, &service).map_err(|failure| (super::FAILED, failure.to_string()))
        });
    }
    match EndRequests::listen() {
        Ok(requests) => super::serve_in_console(&program, &requests),
        Err(error) => {
            super::complain::<P>(&os::Error::new("SetConsoleCtrlHandler", "console", error))
        }
    }
}

/// Ends a program with invalid flags. Reports it to the service control manager if this started us, since nobody else
/// would notice.
pub fn refuse<P: Program>(error: &FlagError, arguments: &[String]) -> u8 {
    let is_service = |argument: &String| {
        argument
            .trim_start_matches('-')
            .starts_with("windows-service")
    };
    if !arguments.iter().any(is_service) {
        return super::USAGE;
    }
    let text = error.to_string();
    as_service::<P>(Duration::ZERO, move |_| Err((super::USAGE, text)))
}

impl Surroundings for ServiceHandle {
    fn still_starting(&self) {
        Self::still_starting(self);
    }

    fn running(&self) {
        Self::running(self);
    }

    fn wait_for_end(&self) {
        self.wait_for_stop();
    }
}

impl Surroundings for EndRequests {
    fn wait_for_end(&self) {
        self.wait();
    }
}

/// An event's number within our source.
const NEVER_RAN: u32 = 1;

/// A failure is an exit code of the service's own and a text for the event log.
fn as_service<P: Program>(
    stop_time: Duration,
    main: impl FnOnce(ServiceHandle) -> Result<(), (u8, String)> + Send + 'static,
) -> u8 {
    let outcome = os_windows::run_as_service(stop_time, move |service| match main(service) {
        Ok(()) => 0,
        Err((code, text)) => {
            report::<P>(text);
            code
        }
    });
    outcome.unwrap_or_else(|error| {
        let code = super::complain::<P>(&error);
        if matches!(error, ServiceError::NotAService) {
            let name = P::NAME;
            eprintln!(
                "Leave -windows-service out to run in a console; {name} service install makes a service of it."
            );
        }
        code
    })
}

/// The log file itself may have failed. A failure of the event log cannot be reported anywhere.
fn report<P: Program>(message: String) {
    let event = Event {
        level: EventLevel::Error,
        id: NEVER_RAN,
        message,
    };
    let _ = NativeEventLog::of(P::SERVICE).report(&event);
}
