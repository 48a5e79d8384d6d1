//! A server without file descriptors. One test, since the limit is the whole process's.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod support;

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::log::Log;
use support::{Fixture, call, eventually, frames};
use transport::ServerOptions;

const ECHO: &str = "/v1.Test/Echo";
/// The server's pause after a failed accept.
const RETRY: Duration = Duration::from_millis(100);
const INTERVAL_SECONDS: u64 = 10;

/// Guards: P25
#[test]
fn a_server_without_descriptors_neither_spins_nor_gives_up() {
    let log = Log::install();
    let fixture = Fixture::new(ServerOptions::default());
    let channel = fixture.channel();
    assert_eq!(call(&channel, ECHO, b"before"), b"before");
    let mut files = all_descriptors();
    drop(files.pop());
    // The log's panic is within the accept, before anything else could be done.
    log.explode_at("cannot accept a client");
    let start = Instant::now();
    let mut waiting = fixture.raw();
    eventually("it is tried again and again", || {
        fixture.server.usage().failed_accepts >= 5
    });
    let failed = u32::try_from(fixture.server.usage().failed_accepts).unwrap();
    let elapsed = start.elapsed();
    assert!(elapsed >= RETRY * (failed - 1), "{failed} in {elapsed:?}");
    assert!(log.has_exploded());
    let lines = u64::try_from(log.count("cannot accept a client")).unwrap();
    assert!(lines <= 1 + elapsed.as_secs() / INTERVAL_SECONDS, "{lines}");
    assert_eq!(call(&channel, ECHO, b"meanwhile"), b"meanwhile");
    drop(files);
    let bytes = [
        frames::opening(),
        frames::call(1, ECHO, b"localhost", b"at last"),
    ];
    let answer = frames::exchange(&mut waiting, &bytes.concat(), 1);
    assert_eq!(answer, Some(frames::message(b"at last")));
}

/// Takes all descriptors, after lowering their limit.
fn all_descriptors() -> Vec<File> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(128),
        maximum,
    };
    setrlimit(Resource::Nofile, few).unwrap();
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    files
}
