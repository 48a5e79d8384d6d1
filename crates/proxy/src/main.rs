//! csi-proxy: serves the storage operations of this node to CSI drivers.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use wincsi_proxy::flags;
use wincsi_proxy::flags::FlagError;
use wincsi_proxy::flags::Invocation;
use wincsi_proxy::service;

mod run;

fn main() -> ExitCode {
    let arguments: Result<Vec<String>, OsString> =
        env::args_os().skip(1).map(OsString::into_string).collect();
    match arguments {
        Ok(arguments) => obey(&arguments),
        Err(argument) => {
            eprintln!("csi-proxy: argument {argument:?} is not Unicode");
            ExitCode::from(run::USAGE)
        }
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
