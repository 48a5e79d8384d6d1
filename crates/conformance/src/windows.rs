use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use wincsi_conformance::admission::{Host, Task};
use wincsi_conformance::arguments::Arguments;
use wincsi_conformance::experiments::{self, Load};
use wincsi_conformance::machine::{self, Lock, Machine, NativeFixture, Removal};
use wincsi_conformance::{MakeFixture, NodeFixture, NodeRun, names, one_at_a_time, real, verdict};

/// The experiment of `--calls-by-handle`.
const CALLS_BY_HANDLE: u8 = 4;

/// How long it goes on, unless `--limit` is shorter.
const A_MINUTE: Duration = Duration::from_secs(60);

/// This process's host.
pub(crate) fn host() -> Result<Host, String> {
    if let Some(version) = real::wine_version() {
        return Ok(Host::Wine(version));
    }
    let is_elevated = real::is_elevated().map_err(text)?;
    let build = real::windows_build();
    Ok(Host::Windows { build, is_elevated })
}

/// Runs as one of the suite's services until stopped.
pub(crate) fn serve() -> Result<(), String> {
    machine::serve()
}

/// Performs an admitted task.
pub(crate) fn perform(task: Task, arguments: &Arguments) -> Result<(), String> {
    match task {
        Task::List => Ok(()),
        Task::CallByHandle => call_by_handle(arguments),
        Task::CleanUp => report(&machine::clean_up(&arguments.folder)?),
        Task::Run => run(arguments),
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let set_up = |why| format!("set-up: {why}");
    let lock = Lock::of(&arguments.folder).map_err(set_up)?;
    let machine = Arc::new(Machine::set_up(arguments, &lock).map_err(set_up)?);
    // libtest-mimic panics where it cannot print, as when the one who looks on has gone.
    let broken = |_| Err("the run broke off".to_owned());
    let ran = catch_unwind(AssertUnwindSafe(|| run_on(&machine, arguments))).unwrap_or_else(broken);
    let taken_down = take_down(machine, lock, arguments);
    match (ran, taken_down) {
        (Err(broken), Err(left)) => Err(format!("{broken}; {left}")),
        (ran, taken_down) => ran.and(taken_down),
    }
}

fn run_on(on: &Arc<Machine>, arguments: &Arguments) -> Result<(), String> {
    for shortage in on.shortages() {
        println!("set-up: {shortage}");
    }
    let of = Arc::clone(on);
    let make: MakeFixture = Arc::new(move || {
        let fixture = NativeFixture::on(&of).map_err(text)?;
        Ok(Box::new(fixture) as Box<dyn NodeFixture>)
    });
    let trials = node_run(arguments, make).trials(arguments.iscsi_target.is_some());
    verdict(&libtest_mimic::run(
        &one_at_a_time(&arguments.tests),
        trials,
    ))
}

fn node_run(arguments: &Arguments, make: MakeFixture) -> NodeRun {
    NodeRun {
        backend: "windows",
        make,
        limit: arguments.limit(),
        machine: machine(arguments),
        record: arguments.record.clone(),
        is_hung: Arc::default(),
    }
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

/// A case that did not end still holds the machine: then everything removable by name goes, and the next run takes the
/// rest.
fn take_down(machine: Arc<Machine>, lock: Lock, arguments: &Arguments) -> Result<(), String> {
    let is_free = Arc::into_inner(machine).is_some();
    if arguments.keep {
        println!("clean-up: nothing, as told; the next run does it");
        return Ok(());
    }
    let removed = machine::clean_up_under(lock);
    if !is_free {
        println!("clean-up: a case has not ended, what it holds stays until the next run");
    }
    report(&removed?)
}

fn report(removals: &[Removal]) -> Result<(), String> {
    for removal in removals {
        println!("clean-up: {removal}");
    }
    match removals.iter().all(Removal::is_good) {
        true => Ok(()),
        false => Err("something of the suite is still there".to_owned()),
    }
}

/// Makes and removes directories below a folder by the handles of directories, and reports the codes.
fn call_by_handle(arguments: &Arguments) -> Result<(), String> {
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
    let counts = experiments::churn(&os, &path, load).map_err(text)?;
    let (cases, failures) = machine::file_cases(&path).map_err(text)?;
    let count = failures.len();
    let held = format!("{cases} cases about files, {count} do not hold: {failures:?}");
    let mut sight = counts.sight();
    sight.add(failures.is_empty(), held);
    let run = node_run(arguments, Arc::new(|| Err("no case needs one".to_owned())));
    let seen = sight.observed(CALLS_BY_HANDLE, &run.machine);
    run.note(seen).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
