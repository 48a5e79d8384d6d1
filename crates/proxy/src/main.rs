//! csi-proxy: serves the storage operations of this node to CSI drivers.

use std::env;
use std::process::ExitCode;

use wincsi_proxy::flags::{self, FlagError, Invocation};
use wincsi_proxy::service;

mod run;

fn main() -> ExitCode {
    // Before anything else loads a library.
    if let Err(status) = run::restrict_libraries() {
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
    match flags::parse(arguments.iter().cloned()) {
        Ok(Invocation::Help) => {
            print!("{}\n{}", flags::usage(), service::HELP);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Version) => {
            println!("csi-proxy (wincsi) {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Ok(Invocation::Serve(config)) => run::run(*config).into(),
        Err(error) => refuse(&error, arguments),
    }
}

fn refuse(error: &FlagError, arguments: &[String]) -> ExitCode {
    eprint!("{error}\n{}", flags::usage());
    run::refuse(error, arguments).into()
}
