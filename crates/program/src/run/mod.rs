//! A program's life: started, asked to end, drained.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Debug;
use std::panic::{self, PanicHookInfo};
use std::time::Duration;
use std::{io, thread};

use crate::log;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

pub use platform::{refuse, restrict_libraries, run};

/// The program could not do what it was started for.
const FAILED: u8 = 1;

/// The command line does not say what to do. Go's `flag` package ends a program with this.
pub const USAGE: u8 = 2;

/// A program that serves until it is asked to end.
pub trait Program: Send + 'static {
    /// What people call it.
    const NAME: &'static str;
    /// The name of its service, and of its source in the event log.
    const SERVICE: &'static str;
    /// Name and version, as its log begins.
    const VERSION: &'static str;
    /// The server, while it runs.
    type Server;
    /// Why the server did not start.
    type Error: std::error::Error;

    /// What its command line says of its life.
    fn settings(&self) -> Settings<'_>;

    /// Starts to serve.
    ///
    /// # Errors
    /// It cannot.
    fn start(&self) -> Result<Self::Server, Self::Error>;

    /// Ends the server within so long, and answers what was left, for the log.
    fn stop(server: Self::Server, drain: Duration) -> Option<impl Debug>;
}

/// What a command line says of a program's life.
pub struct Settings<'a> {
    /// Where the log goes, and how it looks.
    pub log: &'a log::Options,
    /// Flags that were given and have no effect.
    pub ineffective: &'a [&'static str],
    /// Arguments behind the flags.
    pub ignored: &'a [String],
    /// How long a stop waits for calls in flight.
    pub drain: Duration,
    /// Who is to run the program.
    pub under: Under,
}

/// Who runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// A person, a container, or what else tells it to end by a signal.
    Console,
    /// Windows' service control manager.
    ServiceManager,
}

/// Who starts the server and ends it.
trait Surroundings {
    /// The start goes on.
    fn still_starting(&self) {}
    /// All endpoints answer that no other process has.
    fn running(&self) {}
    /// Returns when the server is to end.
    fn wait_for_end(&self);
}

/// Why the server never ran.
#[derive(Debug, thiserror::Error)]
enum RunError<E: std::error::Error> {
    #[error("log file: {0}")]
    Log(io::Error),
    #[error("start failed: {0}")]
    Start(E),
}

/// Serves until the surroundings say so, then drains for at most the drain timeout.
fn serve<P: Program>(
    program: &P,
    surroundings: &impl Surroundings,
) -> Result<(), RunError<P::Error>> {
    let settings = program.settings();
    log::start(settings.log).map_err(RunError::Log)?;
    let _at_the_end = LastLines;
    log_panics();
    tracing::info!("{} starts", P::VERSION);
    warn_of(&settings);
    surroundings.still_starting();
    let server = program
        .start()
        .map_err(RunError::Start)
        .inspect_err(|failure| tracing::error!("{failure}"))?;
    tracing::info!("ready");
    surroundings.running();
    surroundings.wait_for_end();
    tracing::info!("stopping: calls in flight have {:?}", settings.drain);
    if let Some(report) = P::stop(server, settings.drain) {
        tracing::info!("stopped: {report:?}");
    }
    Ok(())
}

fn warn_of(settings: &Settings<'_>) {
    for flag in settings.ineffective {
        tracing::warn!("-{flag} is taken and has no effect");
    }
    if !settings.ignored.is_empty() {
        tracing::warn!("arguments without effect: {:?}", settings.ignored);
    }
    if settings.log.names_files_in_vain() {
        tracing::warn!("-log_file and -log_dir have no effect without -logtostderr=false");
    }
}

/// Serves in a console or a container, and answers the program's exit status.
fn serve_in_console<P: Program>(program: &P, surroundings: &impl Surroundings) -> u8 {
    match serve(program, surroundings) {
        Ok(()) => 0,
        Err(failure) => complain::<P>(&failure),
    }
}

/// Tells people, who may not look at the log.
fn complain<P: Program>(failure: &dyn std::error::Error) -> u8 {
    log::say(&format!("{}: {failure}\n", P::NAME));
    FAILED
}

/// Sees to it, when dropped, that the log's last lines are written.
struct LastLines;

impl Drop for LastLines {
    fn drop(&mut self) {
        log::flush();
    }
}

/// A service has no standard error, where a panic is told of otherwise. And what the standard library writes
/// there itself would wait for somebody to read it.
fn log_panics() {
    panic::set_hook(Box::new(|information| {
        tracing::error!("{information}");
        log::say(&account(information));
    }));
}

/// What the standard library says of a panic.
fn account(information: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => format!("\nthread '{name}' {information}\n{backtrace}\n"),
        _ => format!("\nthread '{name}' {information}\n"),
    }
}
