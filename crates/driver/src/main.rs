//! wincsi: a CSI node plugin for Windows.

use std::env;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::io::{self, BufWriter, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use program::run::{self, FAILED, Program, Settings, Under};
use wincsi_driver::doctor::bundle::{self, Naming};
use wincsi_driver::doctor::command::{Command, NOT_LOOKED};
use wincsi_driver::flags::{self, Config, FlagError, Invocation};
use wincsi_driver::lifecycle;
use wincsi_driver::serve::{self, RunningServer, StartError};

const USAGE: &str = "\
usage: wincsi node [flags]             serve as the CSI node plugin
       wincsi node drain [flags]       admit no new call, and wait for those that run
       wincsi node deregister [flags]  remove the registration socket
       wincsi doctor [-json] [flags]   say what the node has; it changes nothing
       wincsi doctor [-json] [-port=N] //SERVER/SHARE [flags]
                                       say whether the server answers, and how; it logs on nowhere
       wincsi doctor [-json] -from FILE
                                       say what the node had of which FILE is the bundle
       wincsi collect [-anonymous] [flags] > FILE
                                       write a bundle (tar) for who helps: findings, and what they are from
wincsi node -help has the flags, which all take
";

/// The drain left calls.
const LEFT_CALLS: u8 = 3;

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
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["node", "drain", ..] => with_config(&arguments[2..], drain),
        ["node", "deregister", ..] => with_config(&arguments[2..], deregister),
        ["node", ..] => with_config(&arguments[1..], serve),
        ["doctor", ..] => {
            let command = Command::of(&arguments[1..]);
            with_config(&command.flags, |config| {
                let (report, code) = command.run(config);
                run::print::<Driver>(&format!("{report}\n"), code, NOT_LOOKED).into()
            })
        }
        ["collect", ..] => {
            let (ours, flags): (Vec<_>, Vec<_>) = arguments[1..]
                .iter()
                .cloned()
                .partition(|word| ["-anonymous", "--anonymous"].contains(&word.as_str()));
            let naming = match ours.is_empty() {
                true => Naming::Own,
                false => Naming::Anonymous,
            };
            with_config(&flags, |config| collect(config, naming))
        }
        ["-version" | "--version" | "version", ..] => answer(&format!("{}\n", Driver::VERSION), 0),
        _ => {
            eprint!("{USAGE}");
            run::USAGE.into()
        }
    }
}

fn with_config(arguments: &[String], act: impl FnOnce(&Config) -> ExitCode) -> ExitCode {
    match flags::parse(arguments, |name| env::var(name).ok()) {
        Ok(Invocation::Help) => answer(&flags::usage(), 0),
        Ok(Invocation::Version) => answer(&format!("{}\n", Driver::VERSION), 0),
        Ok(Invocation::Serve(config)) => act(&config),
        Err(error) => refuse(&error, arguments),
    }
}

fn serve(config: &Config) -> ExitCode {
    run::run(Driver(config.clone())).into()
}

fn drain(config: &Config) -> ExitCode {
    ended(lifecycle::drain(config), |drained| {
        match drained.is_complete() {
            true => 0,
            false => LEFT_CALLS,
        }
    })
}

fn deregister(config: &Config) -> ExitCode {
    ended(lifecycle::deregister(config), |_| 0)
}

fn collect(config: &Config, naming: Naming) -> ExitCode {
    let to = io::stdout().lock();
    if to.is_terminal() || run::is_output_lost() {
        eprint!("a bundle is binary: redirect the output to a file\n{USAGE}");
        return run::USAGE.into();
    }
    match bundle::collect(config, naming, BufWriter::new(to)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: the bundle is not written: {error}", Driver::NAME);
            FAILED.into()
        }
    }
}

fn ended<T: Display>(outcome: Result<T, impl Error>, code: fn(&T) -> u8) -> ExitCode {
    match outcome {
        Ok(done) => answer(&format!("{done}\n"), code(&done)),
        Err(error) => {
            eprintln!("{}: {error}", Driver::NAME);
            FAILED.into()
        }
    }
}

fn answer(text: &str, status: u8) -> ExitCode {
    run::print::<Driver>(text, status, FAILED).into()
}

fn refuse(error: &FlagError, arguments: &[String]) -> ExitCode {
    eprint!("{error}\n{USAGE}");
    run::refuse::<Driver>(error, arguments).into()
}

/// `wincsi node`, as its command line has it.
struct Driver(Config);

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
