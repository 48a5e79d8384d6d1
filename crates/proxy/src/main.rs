//! csi-proxy: serves the storage operations of this node to CSI drivers.

use std::env;
use std::fmt::Debug;
use std::process::ExitCode;
use std::time::Duration;

use program::run::{self, Program, Settings, Under};
use wincsi_proxy::flags::{self, Config, FlagError, Invocation};
use wincsi_proxy::serve::{self, RunningServer, StartError};
use wincsi_proxy::service;

fn main() -> ExitCode {
    // Before anything else loads a library.
    if let Err(status) = run::restrict_libraries::<Proxy>() {
        return status.into();
    }
    match flags::unicode(env::args_os().skip(1)) {
        Ok(arguments) => obey(&arguments),
        Err(error) => refuse(&error, &[]),
    }
}

fn obey(arguments: &[String]) -> ExitCode {
    if let Some((word, rest)) = arguments.split_first()
        && word == service::WORD
    {
        return service::main(rest);
    }
    match flags::parse_with_variables(arguments, |name| env::var(name).ok()) {
        Ok(Invocation::Help) => answer(&format!("{}\n{}", flags::usage(), service::HELP)),
        Ok(Invocation::Version) => answer(&format!("{}\n", Proxy::VERSION)),
        Ok(Invocation::Serve(config)) => run::run(Proxy(config)).into(),
        Err(error) => refuse(&error, arguments),
    }
}

fn answer(text: &str) -> ExitCode {
    run::print::<Proxy>(text, 0, run::FAILED).into()
}

fn refuse(error: &FlagError, arguments: &[String]) -> ExitCode {
    eprint!("{error}\n{}", flags::usage());
    run::refuse::<Proxy>(error, arguments).into()
}

/// csi-proxy, as its command line has it.
struct Proxy(Box<Config>);

impl Program for Proxy {
    const NAME: &'static str = "csi-proxy";
    const SERVICE: &'static str = service::NAME;
    const VERSION: &'static str = concat!("csi-proxy (wincsi) ", env!("CARGO_PKG_VERSION"));
    type Server = RunningServer;
    type Error = StartError;

    fn settings(&self) -> Settings<'_> {
        let Self(config) = self;
        Settings {
            log: &config.log,
            ineffective: &config.ineffective,
            ignored: &config.ignored,
            drain: config.drain_timeout,
            under: match config.windows_service {
                true => Under::ServiceManager,
                false => Under::Console,
            },
        }
    }

    fn start(&self) -> Result<RunningServer, StartError> {
        serve::start(&self.0)
    }

    fn stop(server: RunningServer, drain: Duration) -> Option<impl Debug> {
        server.shutdown(drain)
    }
}
