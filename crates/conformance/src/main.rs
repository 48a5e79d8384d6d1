//! `wincsi-conformance`: the cases and experiments on real Windows. See the library of this crate.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use wincsi_conformance::NodeRun;
use wincsi_conformance::admission::{self, Task};
use wincsi_conformance::arguments::Arguments;
use wincsi_conformance::experiments::ASSUMPTIONS;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

/// Nothing was tried.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.as_service {
        return ended(platform::serve());
    }
    if arguments.experiments {
        ASSUMPTIONS.iter().for_each(|one| println!("{one}"));
        return ExitCode::SUCCESS;
    }
    let task = platform::host().and_then(|host| {
        admission::admit(&arguments, &host).map_err(|refusal| refusal.to_string())
    });
    match task {
        Ok(Task::List) => list(&arguments),
        Ok(task) => ended(platform::perform(task, &arguments)),
        Err(reason) => {
            eprintln!("refused: {reason}");
            ExitCode::from(REFUSED)
        }
    }
}

fn list(arguments: &Arguments) -> ExitCode {
    let run = NodeRun {
        backend: "windows",
        make: Arc::new(|| Err("they are only listed".to_owned())),
        limit: arguments.limit(),
        machine: String::new(),
        record: None,
        is_hung: Arc::default(),
    };
    libtest_mimic::run(&arguments.tests, run.trials(true)).exit_code()
}

fn ended(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("failed: {reason}");
            ExitCode::FAILURE
        }
    }
}
