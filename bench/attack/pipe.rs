//! A connection on Windows: a pipe, opened as simple programs do.

use std::fs::{File, OpenOptions};
use std::time::{Duration, Instant};
use std::{io, thread};

pub type Stream = File;

const ERROR_PIPE_BUSY: i32 = 231;
const PATIENCE: Duration = Duration::from_secs(30);

/// All instances may be taken for a moment.
pub fn open(path: &str) -> io::Result<Stream> {
    let end = Instant::now() + PATIENCE;
    loop {
        match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) && Instant::now() < end => {
                thread::sleep(Duration::from_millis(1));
            }
            opened => return opened,
        }
    }
}
