//! What is seen of a copy while it is made: lines of the log, metrics, and whether the share has space for more.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use smb::{Copied, CopyProgress, Failure, Space};

use super::call::Call;
use super::clones::Target;
use super::running::{MOST_FAILED, lock};
use super::{Error, Volumes};

/// How often the log has a line of a copy.
const LINE: Duration = Duration::from_secs(60);

/// How many parts of a share, of a hundred, stay free.
const LEAST_FREE: u64 = 5;

pub(super) struct Watched<'a> {
    volumes: &'a Volumes,
    label: String,
    share: String,
    begun: Instant,
    logged: Instant,
    /// What was free at the beginning.
    free: Option<u64>,
    /// What the metrics have of it.
    counted: u64,
    /// Why it ends.
    stopped: Option<Error>,
}

impl<'a> Watched<'a> {
    pub(super) fn begin(call: &Call<'a>, target: &Target<'_>, (from, to): (&str, &str)) -> Self {
        let label = target.label();
        tracing::info!("{label}: {from} is copied to {to}");
        Self {
            volumes: call.volumes,
            label,
            share: call.base.at(&smb::SharePath::root()),
            begun: Instant::now(),
            logged: Instant::now(),
            free: None,
            counted: 0,
            stopped: None,
        }
    }

    pub(super) fn see(&mut self, progress: &CopyProgress) -> ControlFlow<()> {
        let new = progress.written.saturating_sub(self.counted);
        self.counted += new;
        self.volumes.figures.add(new);
        if self.logged.elapsed() >= LINE {
            self.logged = Instant::now();
            let (label, p) = (&self.label, progress);
            tracing::info!(
                "{label}: {} of {} entries, {} of {} bytes",
                p.entries,
                p.of_entries,
                p.bytes,
                p.of_bytes
            );
        }
        let seen = progress.space.map(|space| self.expect_space(space));
        self.go_on(seen.unwrap_or(Ok(())))
    }

    /// Ends the copy after a failure.
    pub(super) fn go_on(&mut self, done: Result<(), Error>) -> ControlFlow<()> {
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.stopped = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn expect_space(&mut self, space: Space) -> Result<(), Error> {
        let Space { free, total } = space;
        let share = &self.share;
        if self.free.is_none() {
            self.free = Some(free);
            let before = lock(&self.volumes.starved).get(&self.label).copied();
            if let Some(before) = before.filter(|before| free <= *before) {
                return Err(Error::Full(format!(
                    "{share}: {free} bytes are free, no more than the {before} when the copy last failed: make room"
                )));
            }
        }
        if u128::from(free) * 100 >= u128::from(total) * u128::from(LEAST_FREE) {
            return Ok(());
        }
        Err(Error::Full(format!(
            "{share} has {free} bytes free of {total}, and a copy leaves {LEAST_FREE} % free: make room"
        )))
    }

    /// Returns what was free before, too.
    pub(super) fn end(self, done: smb::Result<Copied>) -> (Option<u64>, Result<(), Error>) {
        let (label, time) = (&self.label, self.begun.elapsed().as_secs());
        let failed = match (done, self.stopped) {
            (Ok(copied), _) => {
                if copied.unproved > 0 {
                    tracing::warn!(
                        "{label}: of its source's folders only their kind shows that they are no links"
                    );
                }
                let (entries, bytes) = (copied.entries, copied.bytes);
                tracing::info!("{label}: copied in {time} s, {entries} entries, {bytes} bytes");
                return (self.free, Ok(()));
            }
            (Err(_), Some(stopped)) => stopped,
            // Its source was moved by other ways than ours.
            (Err(error), None) if error.failure == Failure::NotFound => {
                Error::NotFound(error.to_string())
            }
            (Err(error), None) => Error::from(error),
        };
        tracing::warn!("{label}: ended after {time} s: {failed}");
        (self.free, Err(failed))
    }
}

impl Volumes {
    /// Remembers what was free before a copy that was given up for too little space: the next one begins with more.
    pub(super) fn book_space(&self, label: &str, free: Option<u64>, done: &Result<(), Error>) {
        let mut starved = lock(&self.starved);
        let is_full = match done {
            Ok(()) => {
                starved.remove(label);
                return;
            }
            Err(Error::Share(error)) => error.failure == Failure::Full,
            Err(error) => matches!(error, Error::Full(_)),
        };
        if let (true, Some(free)) = (is_full, free) {
            if starved.len() >= MOST_FAILED {
                starved.clear();
            }
            let before = starved.entry(label.to_owned()).or_insert(free);
            *before = free.max(*before);
        }
    }
}
