//! csi-proxy: serves the storage operations of this node to CSI drivers.

use std::env;
use std::process::ExitCode;
use std::sync::mpsc;

use wincsi_proxy::flags;
use wincsi_proxy::flags::Config;
use wincsi_proxy::flags::Invocation;
use wincsi_proxy::log;
use wincsi_proxy::serve;

#[cfg_attr(windows, path = "run/windows.rs")]
#[cfg_attr(not(windows), path = "run/elsewhere.rs")]
mod run;

fn main() -> ExitCode {
    match flags::parse_os(env::args_os().skip(1)) {
        Ok(Invocation::Help) => {
            print!("{}", flags::usage());
            ExitCode::SUCCESS
        }
        Ok(Invocation::Version) => {
            println!("csi-proxy (wincsi) {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Ok(Invocation::Serve(config)) => run::run(*config),
        Err(error) => {
            eprint!("{error}\n{}", flags::usage());
            // Go's flag package ends a program with 2.
            ExitCode::from(2)
        }
    }
}

/// Serves until Ctrl-C, a termination signal or the console's end.
fn serve_in_console(config: &Config) -> ExitCode {
    let (stop, stopped) = mpsc::channel();
    let handler = move || {
        // Nobody listens any more: the stop is under way.
        let _ = stop.send(());
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("signal handler: {error}");
        return ExitCode::FAILURE;
    }
    let wait = || {
        // The handler holds the other end for as long as the process lives.
        let _ = stopped.recv();
    };
    serve_until(config, || {}, wait)
}

/// Serves until `stopped` returns, then drains.
fn serve_until(config: &Config, ready: impl FnOnce(), stopped: impl FnOnce()) -> ExitCode {
    if let Err(error) = log::start(config) {
        eprintln!("log file: {error}");
        return ExitCode::FAILURE;
    }
    tracing::info!("csi-proxy (wincsi) {} starts", env!("CARGO_PKG_VERSION"));
    for flag in &config.ineffective {
        tracing::warn!("-{flag} is taken and has no effect");
    }
    if !config.ignored.is_empty() {
        tracing::warn!("arguments without effect: {:?}", config.ignored);
    }
    let server = match serve::start(config) {
        Ok(server) => server,
        Err(error) => {
            tracing::error!("start failed: {error}");
            return ExitCode::FAILURE;
        }
    };
    tracing::info!("ready");
    ready();
    stopped();
    let report = server.shutdown(config.drain_timeout);
    tracing::info!("stopped: {report:?}");
    ExitCode::SUCCESS
}
