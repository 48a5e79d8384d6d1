//! wincsi: a CSI node plugin for Windows.

use std::env;
use std::fmt::Debug;
use std::process::ExitCode;
use std::time::Duration;

use program::run::{self, Program, Settings, Under};
use wincsi_driver::flags::{self, Config, FlagError, Invocation};
use wincsi_driver::serve::{self, RunningServer, StartError};

const USAGE: &str = "usage: wincsi node [flags]; wincsi node -help has the flags\n";

fn main() -> ExitCode {
    // Before anything else loads a library.
    if let Err(status) = run::restrict_libraries::<Driver>() {
        return status.into();
    }
    match flags::unicode(env::args_os().skip(1)) {
        Ok(arguments) => obey(&arguments),
        Err(error) => refuse(&error, &[]),
    }
}

fn obey(arguments: &[String]) -> ExitCode {
    match arguments.split_first() {
        Some((word, rest)) if word == "node" => node(rest),
        Some((word, _)) if matches!(word.as_str(), "-version" | "--version" | "version") => {
            println!("{}", Driver::VERSION);
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            run::USAGE.into()
        }
    }
}

fn node(arguments: &[String]) -> ExitCode {
    match flags::parse(arguments, |name| env::var(name).ok()) {
        Ok(Invocation::Help) => {
            print!("{}", flags::usage());
            ExitCode::SUCCESS
        }
        Ok(Invocation::Version) => {
            println!("{}", Driver::VERSION);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Serve(config)) => run::run(Driver(config)).into(),
        Err(error) => refuse(&error, arguments),
    }
}

fn refuse(error: &FlagError, arguments: &[String]) -> ExitCode {
    eprint!("{error}\n{USAGE}");
    run::refuse::<Driver>(error, arguments).into()
}

/// `wincsi node`, as its command line has it.
struct Driver(Box<Config>);

impl Program for Driver {
    const NAME: &'static str = "wincsi";
    const SERVICE: &'static str = "wincsi";
    const VERSION: &'static str = concat!("wincsi ", env!("CARGO_PKG_VERSION"));
    type Server = RunningServer;
    type Error = StartError;

    fn settings(&self) -> Settings<'_> {
        let Self(config) = self;
        Settings {
            log: &config.log,
            ineffective: &config.ineffective,
            ignored: &config.ignored,
            drain: config.drain_timeout,
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
