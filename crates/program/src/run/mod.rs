//! A program's life: start, request to end, drain.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Debug;
use std::io::Write as _;
use std::panic::{self, PanicHookInfo};
use std::time::Duration;
use std::{io, thread};

use crate::log;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

pub use platform::{is_output_lost, refuse, restrict_libraries, run};

/// The program failed.
pub const FAILED: u8 = 1;

/// An invalid command line. Go's `flag` package ends a program with this code.
pub const USAGE: u8 = 2;

/// A program serving until it gets a request to end.
pub trait Program: Send + 'static {
    /// Its name for people.
    const NAME: &'static str;
    /// The name of its service, and of its source in the event log.
    const SERVICE: &'static str;
    /// Name and version, as its log begins.
    const VERSION: &'static str;
    /// The server, while it runs.
    type Server;
    /// Why the server did not start.
    type Error: std::error::Error;

    /// The settings of its life from its command line.
    fn settings(&self) -> Settings<'_>;

    /// Starts to serve.
    ///
    /// # Errors
    /// The program cannot serve.
    fn start(&self) -> Result<Self::Server, Self::Error>;

    /// Ends the server within `drain`, and returns what was left, for the log.
    fn stop(server: Self::Server, drain: Duration) -> Option<impl Debug>;
}

/// A program's settings of its life from its command line.
pub struct Settings<'a> {
    /// Where the log goes, and how it looks.
    pub log: &'a log::Options,
    /// Given flags without effect.
    pub ineffective: &'a [&'static str],
    /// Arguments behind the flags.
    pub ignored: &'a [String],
    /// How long a stop waits for calls in flight.
    pub drain: Duration,
    pub under: Under,
}

/// The starter of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// A person, a container, or another starter that ends it by a signal.
    Console,
    /// Windows' service control manager.
    ServiceManager,
}

/// The starter and ender of the server.
trait Surroundings {
    /// The start goes on.
    fn still_starting(&self) {}
    /// All endpoints answer, except those of other processes.
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

/// Writes a command's answer to standard output, and returns the program's exit status: `status`, also where the reader
/// of a pipe has seen enough, or else `unwritten`, and people are shown why.
pub fn print<P: Program>(answer: &str, status: u8, unwritten: u8) -> u8 {
    let mut output = io::stdout().lock();
    let written = output.write_all(answer.as_bytes());
    match written.and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain::<P>(&error);
            unwritten
        }
        _ => status,
    }
}

/// Shows people a failure, as they may not read the log.
fn complain<P: Program>(failure: &dyn std::error::Error) -> u8 {
    log::say(&format!("{}: {failure}\n", P::NAME));
    FAILED
}

/// When dropped, flushes the log's last lines.
struct LastLines;

impl Drop for LastLines {
    fn drop(&mut self) {
        log::flush();
    }
}

/// Panics normally go to standard error, and a service has none. And the standard library's own write there would wait
/// for a reader.
fn log_panics() {
    panic::set_hook(Box::new(|information| {
        tracing::error!("{information}");
        log::say(&account(information));
    }));
}

/// The standard library's text for a panic.
fn account(information: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => format!("\nthread '{name}' {information}\n{backtrace}\n"),
        _ => format!("\nthread '{name}' {information}\n"),
    }
}
