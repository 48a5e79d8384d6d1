//! The server's life: started, asked to end, drained.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::{io, thread};

use program::log;
use wincsi_proxy::flags::Config;
use wincsi_proxy::serve::{self, StartError};

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

pub(crate) use platform::{refuse, restrict_libraries, run};

/// The program could not do what it was started for.
const FAILED: u8 = 1;

/// The command line does not say what to do. Go's `flag` package ends a program with this.
pub(crate) const USAGE: u8 = 2;

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
enum Failure {
    #[error("log file: {0}")]
    Log(io::Error),
    #[error("start failed: {0}")]
    Start(#[from] StartError),
}

/// Serves until the surroundings say so, then drains for at most the drain timeout.
fn serve(config: &Config, surroundings: &impl Surroundings) -> Result<(), Failure> {
    log::start(&config.log).map_err(Failure::Log)?;
    let _at_the_end = LastLines;
    log_panics();
    tracing::info!("csi-proxy (wincsi) {} starts", env!("CARGO_PKG_VERSION"));
    for flag in &config.ineffective {
        tracing::warn!("-{flag} is taken and has no effect");
    }
    if !config.ignored.is_empty() {
        tracing::warn!("arguments without effect: {:?}", config.ignored);
    }
    if config.log.names_files_in_vain() {
        tracing::warn!("-log_file and -log_dir have no effect without -logtostderr=false");
    }
    surroundings.still_starting();
    let server = serve::start(config)
        .map_err(Failure::Start)
        .inspect_err(|failure| tracing::error!("{failure}"))?;
    tracing::info!("ready");
    surroundings.running();
    surroundings.wait_for_end();
    tracing::info!("stopping: calls in flight have {:?}", config.drain_timeout);
    if let Some(report) = server.shutdown(config.drain_timeout) {
        tracing::info!("stopped: {report:?}");
    }
    Ok(())
}

/// Serves in a console or a container, and answers the program's exit status.
fn serve_in_console(config: &Config, surroundings: &impl Surroundings) -> u8 {
    match serve(config, surroundings) {
        Ok(()) => 0,
        Err(failure) => complain(&failure),
    }
}

/// Tells people, who may not look at the log.
fn complain(failure: &dyn std::error::Error) -> u8 {
    log::say(&format!("csi-proxy: {failure}\n"));
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
