//! Which clones run, and what became of others: for metrics.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use smb::Failure;

use super::Error;
use super::running::lock;

#[derive(Default)]
pub struct Figures {
    running: AtomicU64,
    bytes: AtomicU64,
    failures: Mutex<BTreeMap<&'static str, u64>>,
}

/// A clone that runs.
pub(super) struct Counted<'a>(&'a Figures);

impl Figures {
    /// Each reason why a clone may fail.
    pub const REASONS: [&'static str; 9] = [
        "connection",
        "denied",
        "exists",
        "link",
        "locked",
        "names",
        "other",
        "source",
        "space",
    ];

    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// Written by all clones of this process.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many clones failed for a reason.
    pub fn failed(&self, reason: &str) -> u64 {
        lock(&self.failures).get(reason).copied().unwrap_or(0)
    }

    pub(super) fn begin(&self) -> Counted<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Counted(self)
    }

    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Counted<'_> {
    pub(super) fn end<T>(self, done: &Result<T, Error>) {
        if let Err(error) = done {
            *lock(&self.0.failures).entry(reason(error)).or_default() += 1;
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn reason(error: &Error) -> &'static str {
    let failure = match error {
        Error::NotFound(_) => return "source",
        Error::Full(_) => return "space",
        Error::Exists(_) => return "exists",
        Error::Busy(_) => return "locked",
        Error::Invalid(_) | Error::Blocked(_) | Error::GoesOn(_) => return "other",
        Error::Share(error) => &error.failure,
    };
    match failure {
        Failure::Full => "space",
        Failure::Link => "link",
        Failure::Denied => "denied",
        Failure::InUse => "locked",
        Failure::SameName { .. } => "names",
        failure if failure.ends_connection() => "connection",
        _ => "other",
    }
}
