//! Pipes with names of the test's own.

use std::fs::{File, OpenOptions};
use std::thread;

use transport::Endpoint;

const ERROR_PIPE_BUSY: i32 = 231;

pub type LocalStream = File;

/// The beginning of an absolute path.
pub const ROOT: &str = r"C:\";

/// Where the endpoints of a test are.
pub struct Home;

impl Home {
    pub fn new() -> Self {
        Self
    }

    #[allow(clippy::unused_self, reason = "the name that both systems share")]
    pub fn endpoint(&self, name: &str) -> Endpoint {
        Endpoint::pipe(name).unwrap()
    }
}

/// Opens a pipe as simple programs do: one operation at a time.
pub fn open(endpoint: &Endpoint) -> LocalStream {
    loop {
        match OpenOptions::new()
            .read(true)
            .write(true)
            .open(endpoint.to_string())
        {
            Ok(file) => return file,
            Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => thread::yield_now(),
            Err(error) => panic!("cannot open {endpoint}: {error}"),
        }
    }
}

/// Nothing limits them here.
pub fn allow_many_connections() {}
