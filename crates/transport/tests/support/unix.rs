//! Sockets in a folder of the test's own.

use std::os::unix::net::UnixStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;
use transport::Endpoint;

pub type LocalStream = UnixStream;

/// The beginning of an absolute path.
pub const ROOT: &str = "/";

/// Where the endpoints of a test are.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn endpoint(&self, name: &str) -> Endpoint {
        Endpoint::socket(self.0.path().join(name))
    }
}

pub fn open(endpoint: &Endpoint) -> LocalStream {
    UnixStream::connect(endpoint.to_string()).unwrap()
}

/// Raises the limit of open files as far as it goes.
pub fn allow_many_connections() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .unwrap();
}
