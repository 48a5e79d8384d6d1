//! Which copies run, clones, snapshots and restores, and what became of others: for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use smb::Failure;

use super::Error;

#[derive(Default)]
pub struct Figures {
    running: AtomicU64,
    bytes: AtomicU64,
    changed: AtomicU64,
    /// As in [`Reason::ALL`].
    failures: [AtomicU64; Reason::ALL.len()],
}

/// Why a copy failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Connection,
    Denied,
    Exists,
    Link,
    Locked,
    Names,
    Other,
    Source,
    Space,
}

/// A copy that runs.
pub(super) struct Counted<'a>(&'a Figures);

impl Reason {
    /// Each one, and its name in metrics.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Connection, "connection"),
        (Self::Denied, "denied"),
        (Self::Exists, "exists"),
        (Self::Link, "link"),
        (Self::Locked, "locked"),
        (Self::Names, "names"),
        (Self::Other, "other"),
        (Self::Source, "source"),
        (Self::Space, "space"),
    ];
}

impl Figures {
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// Written by all copies of this process.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many files changed while snapshots copied them.
    pub fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// How many copies failed for a reason.
    pub fn failed(&self, reason: Reason) -> u64 {
        self.failures(reason)
            .map(|it| it.load(Ordering::Relaxed))
            .sum()
    }

    fn failures(&self, reason: Reason) -> impl Iterator<Item = &AtomicU64> {
        let all = Reason::ALL.iter().zip(&self.failures);
        all.filter_map(move |((one, _), count)| (*one == reason).then_some(count))
    }

    pub(super) fn begin(&self) -> Counted<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Counted(self)
    }

    pub(super) fn add_changed(&self, files: u64) {
        self.changed.fetch_add(files, Ordering::Relaxed);
    }

    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Counted<'_> {
    pub(super) fn end<T>(self, done: &Result<T, Error>) {
        if let Err(error) = done {
            let mut counts = self.0.failures(reason(error));
            counts.next().map(|it| it.fetch_add(1, Ordering::Relaxed));
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn reason(error: &Error) -> Reason {
    let failure = match error {
        Error::NotFound(_) => return Reason::Source,
        Error::Full(_) => return Reason::Space,
        Error::Exists(_) => return Reason::Exists,
        Error::Busy(_) => return Reason::Locked,
        Error::Invalid(_) | Error::Blocked(_) | Error::GoesOn(_) => return Reason::Other,
        Error::Share(error) => &error.failure,
    };
    match failure {
        Failure::Full => Reason::Space,
        Failure::Link => Reason::Link,
        Failure::Denied => Reason::Denied,
        Failure::InUse => Reason::Locked,
        Failure::SameName { .. } => Reason::Names,
        failure if failure.ends_connection() => Reason::Connection,
        _ => Reason::Other,
    }
}
