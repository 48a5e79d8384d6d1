//! The process to be ended: reports its events on standard output, and takes orders on standard input.

use std::io::{self, BufRead as _};
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};
use std::thread;

use wincsi_os_windows::EndRequests;

use super::raise;

/// The argument of such a process.
pub(crate) const FLAG: &str = "--as-server";

/// An order to load user32.dll, and to confirm it.
pub(crate) const LOAD_USER32: &str = "user32";

/// Ends well after its drain of the ordered length.
pub(crate) fn main() -> ExitCode {
    let Ok(requests) = EndRequests::listen() else {
        return ExitCode::FAILURE;
    };
    if EndRequests::listen().is_ok() {
        return ExitCode::FAILURE;
    }
    println!("listening");
    let (drained, drain) = mpsc::channel();
    thread::spawn(move || obey(&drained));
    requests.wait();
    println!("asked");
    if drain.recv().is_err() {
        return ExitCode::FAILURE;
    }
    println!("drained");
    ExitCode::SUCCESS
}

fn obey(drained: &Sender<()>) {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.trim().parse() {
            Ok(event) => drop(thread::spawn(move || {
                raise::raise(event);
                println!("handled {event}");
            })),
            Err(_) if line.trim() == LOAD_USER32 && raise::load_user32() => {
                println!("user32 is loaded");
            }
            Err(_) => drop(drained.send(())),
        }
    }
}
