use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use os_windows_testkit::real;
use wincsi_conformance::admission::Host;
use wincsi_conformance::arguments::Arguments;
use wincsi_conformance::experiments::{self, Load};
use wincsi_conformance::machine::{self, Lock, Machine, NativeFixture, Removal};
use wincsi_conformance::run::{self, MakeFixture, Run, Summary};
use wincsi_conformance::{NodeFixture, names, plan};

/// The experiment of `--calls-by-handle`.
const CALLS_BY_HANDLE: u8 = 4;

/// How long it goes on, unless `--limit` is shorter.
const A_MINUTE: Duration = Duration::from_secs(60);

/// This process's host.
pub(crate) fn host() -> Result<Host, String> {
    if let Some(version) = real::wine_version() {
        return Ok(Host::Wine(version));
    }
    let is_elevated = real::is_elevated().map_err(|error| error.to_string())?;
    let build = real::windows_build();
    Ok(Host::Windows { build, is_elevated })
}

/// The system, and other facts known of the machine.
fn machine(arguments: &Arguments) -> String {
    let system = match real::wine_version() {
        Some(version) => format!("Wine {version}"),
        None => format!("Windows 10.0.{}", real::windows_build()),
    };
    match arguments.machine.as_str() {
        "" => system,
        more => format!("{system}, {more}"),
    }
}

/// Runs as one of the suite's services until stopped.
pub(crate) fn serve() -> ExitCode {
    match machine::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("no service: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Makes and removes directories below a folder by the handles of directories, and reports the codes.
pub(crate) fn call_by_handle(arguments: &Arguments) -> ExitCode {
    match called_by_handle(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => failed(&reason),
    }
}

fn called_by_handle(arguments: &Arguments) -> Result<(), String> {
    let folder = arguments
        .calls_by_handle
        .as_deref()
        .unwrap_or(&arguments.folder);
    let folder = folder.to_string_lossy();
    let path = folder
        .parse()
        .map_err(|error| format!("{folder}: {error}"))?;
    let os = os_windows::node(names::EVENT_SOURCE);
    let load = Load::heavy(arguments.limit().min(A_MINUTE));
    let counts = experiments::churn(&os, &path, load).map_err(|error| error.to_string())?;
    let (cases, failures) = machine::file_cases(&path).map_err(|error| error.to_string())?;
    let count = failures.len();
    let held = format!("{cases} cases about files, {count} do not hold: {failures:?}");
    let mut sight = counts.sight();
    sight.add(failures.is_empty(), held);
    let seen = sight.observed(CALLS_BY_HANDLE, &machine(arguments));
    println!("{seen}");
    match &arguments.record {
        Some(folder) => seen.append_to(folder).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

/// Removes a former run's leftovers.
pub(crate) fn clean_up(arguments: &Arguments) -> ExitCode {
    done(machine::clean_up(&arguments.folder))
}

/// Runs the cases.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let lock = match Lock::of(&arguments.folder) {
        Ok(lock) => lock,
        Err(reason) => return failed(&format!("set-up: {reason}")),
    };
    let machine = match Machine::set_up(arguments, &lock) {
        Ok(machine) => Arc::new(machine),
        Err(reason) => return failed(&format!("set-up: {reason}")),
    };
    for note in machine.notes() {
        println!("note     {note}");
    }
    for shortage in machine.shortages() {
        println!("set-up: {shortage}");
    }
    let ran = ran(&machine, arguments);
    let taken_down = taken_down(machine, lock, arguments);
    match ran {
        Ok(summary) if summary.is_good() => taken_down,
        Ok(Summary { .. }) => ExitCode::FAILURE,
        Err(reason) => failed(&reason),
    }
}

fn ran(on: &Arc<Machine>, arguments: &Arguments) -> Result<Summary, String> {
    let of = Arc::clone(on);
    let make: MakeFixture = Arc::new(move || {
        let fixture = NativeFixture::on(&of).map_err(|error| error.to_string())?;
        Ok(Box::new(fixture) as Box<dyn NodeFixture>)
    });
    let run = Run {
        make,
        limit: arguments.limit(),
        record: arguments.record.clone(),
        machine: machine(arguments),
    };
    let ran = run::run(&plan::plan(arguments), &run, &mut io::stdout());
    ran.map_err(|error| error.to_string())
}

/// A case that did not end still holds the machine: then everything removable by name goes, and the next run takes the
/// rest.
fn taken_down(machine: Arc<Machine>, lock: Lock, arguments: &Arguments) -> ExitCode {
    let is_free = Arc::into_inner(machine).is_some();
    if arguments.keep {
        println!("clean-up: nothing, as told; the next run does it");
        return ExitCode::SUCCESS;
    }
    if !is_free {
        println!("clean-up: a case has not ended, what it holds stays until the next run");
    }
    done(machine::clean_up_under(lock))
}

fn done(cleaned_up: Result<Vec<Removal>, String>) -> ExitCode {
    match cleaned_up {
        Ok(removals) => report_removals(&removals),
        Err(reason) => failed(&reason),
    }
}

fn report_removals(removals: &[Removal]) -> ExitCode {
    for removal in removals {
        println!("clean-up: {removal}");
    }
    match removals.iter().all(Removal::is_good) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn failed(reason: &str) -> ExitCode {
    eprintln!("failed: {reason}");
    ExitCode::FAILURE
}
