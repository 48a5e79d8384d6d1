//! wincsi-controller: folders of SMB shares for claims.

use std::env;
use std::fmt::Debug;
use std::process::ExitCode;
use std::time::Duration;

use program::run::{self, Program, Settings, Under};
use wincsi_controller::flags::{self, Config, FlagError, Invocation};
use wincsi_controller::serve::{self, RunningServer, StartError};

/// How long a stop waits for calls: the sidecars, which wait 10 s by default, end with the pod as well.
const DRAIN: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    // Before anything else loads a library.
    if let Err(status) = run::restrict_libraries::<Controller>() {
        return status.into();
    }
    let arguments = match flags::unicode(env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, &[]),
    };
    match flags::parse(&arguments, |name| env::var(name).ok()) {
        Ok(Invocation::Help) => answer(&flags::usage()),
        Ok(Invocation::Version) => answer(&format!("{}\n", Controller::VERSION)),
        Ok(Invocation::Serve(config)) => run::run(Controller(*config)).into(),
        Err(error) => refuse(&error, &arguments),
    }
}

fn answer(text: &str) -> ExitCode {
    run::print::<Controller>(text, 0, run::FAILED).into()
}

fn refuse(error: &FlagError, arguments: &[String]) -> ExitCode {
    eprintln!("{error}\nwincsi-controller -help has the flags");
    run::refuse::<Controller>(error, arguments).into()
}

/// The program, as its command line has it.
struct Controller(Config);

impl Program for Controller {
    const NAME: &'static str = "wincsi-controller";
    const SERVICE: &'static str = "wincsi-controller";
    const VERSION: &'static str = concat!("wincsi-controller ", env!("CARGO_PKG_VERSION"));
    type Server = RunningServer;
    type Error = StartError;

    fn settings(&self) -> Settings<'_> {
        let Self(config) = self;
        Settings {
            log: &config.log,
            ineffective: &config.ineffective,
            ignored: &config.ignored,
            drain: DRAIN,
            under: Under::Console,
        }
    }

    fn start(&self) -> Result<RunningServer, StartError> {
        serve::start(&self.0)
    }

    fn stop(server: RunningServer, drain: Duration) -> Option<impl Debug> {
        server.shutdown(drain)
    }
}
