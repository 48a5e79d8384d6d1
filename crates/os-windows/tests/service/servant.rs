//! The service's side: acts by its mode, and reports its actions.

use std::io;
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use wincsi_os_windows::{ServiceHandle, run_as_service};

use super::wire::Wire;

/// The first argument of the service's process.
pub(crate) const FLAG: &str = "--as-service";

/// The announced time of the service's stop.
pub(crate) const STOP_TIME: Duration = Duration::from_secs(20);

/// The exit code on a requested failure.
pub(crate) const FAILURE: u8 = 7;

/// Takes the port of the listening case, and the mode.
pub(crate) fn main(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let (Some(port), Some(mode)) = (arguments.next(), arguments.next()) else {
        return ExitCode::FAILURE;
    };
    let Ok(wire) = connect(&port) else {
        return ExitCode::FAILURE;
    };
    let wire = Arc::new(Mutex::new(wire));
    let inside = Arc::clone(&wire);
    let ended = run_as_service(STOP_TIME, move |service| {
        serve(&mode, &service, &mut locked(&inside)).unwrap_or(1)
    });
    let last_words = match &ended {
        Ok(0) => "ended well",
        Ok(_) => "ended badly",
        Err(_) => "never was",
    };
    let _ = locked(&wire).say(last_words);
    ended.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn serve(mode: &str, service: &ServiceHandle, wire: &mut Wire) -> io::Result<u8> {
    wire.say("starting")?;
    while wire.hear()? == "say more" {
        service.still_starting();
        wire.say("said more")?;
    }
    match mode {
        "fail" => return Ok(FAILURE),
        "panic" => panic_as_asked(),
        _ => {}
    }
    service.running();
    wire.say("running")?;
    if mode == "closure" {
        wait_by_closure(service);
    } else {
        service.wait_for_stop();
    }
    wire.say(if service.is_stopping() {
        "stopping"
    } else {
        "confused"
    })?;
    wire.hear()?;
    Ok(0)
}

#[allow(clippy::panic, reason = "the case is about a panic")]
fn panic_as_asked() -> ! {
    panic!("as the case asked");
}

fn wait_by_closure(service: &ServiceHandle) {
    let (sender, receiver) = mpsc::channel();
    service.on_stop(move || {
        let _ = sender.send(());
    });
    let _ = receiver.recv();
}

fn connect(port: &str) -> io::Result<Wire> {
    let port = port.parse().map_err(io::Error::other)?;
    Wire::over(TcpStream::connect(("127.0.0.1", port))?)
}

fn locked(wire: &Mutex<Wire>) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}
