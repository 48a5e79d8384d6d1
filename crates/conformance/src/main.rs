//! `wincsi-conformance`: see the library of this crate.

use std::process::ExitCode;

use clap::Parser as _;
use wincsi_conformance::admission::{self, Task};
use wincsi_conformance::arguments::Arguments;
use wincsi_conformance::experiments::ASSUMPTIONS;
use wincsi_conformance::plan;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

/// Nothing was tried.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.as_service {
        return platform::serve();
    }
    if arguments.experiments {
        for assumption in ASSUMPTIONS {
            println!("{assumption}");
        }
        return ExitCode::SUCCESS;
    }
    let task = platform::host().and_then(|host| {
        admission::admit(&arguments, &host).map_err(|refusal| refusal.to_string())
    });
    match task {
        Ok(Task::List) => list(&arguments),
        Ok(Task::CallByHandle) => platform::call_by_handle(&arguments),
        Ok(Task::CleanUp) => platform::clean_up(&arguments),
        Ok(Task::Run) => platform::run(&arguments),
        Err(reason) => {
            eprintln!("refused: {reason}");
            ExitCode::from(REFUSED)
        }
    }
}

fn list(arguments: &Arguments) -> ExitCode {
    for planned in plan::plan(arguments) {
        match planned.left_out {
            Some(reason) => println!("{} (not run: {reason})", planned.name),
            None => println!("{}", planned.name),
        }
    }
    ExitCode::SUCCESS
}
