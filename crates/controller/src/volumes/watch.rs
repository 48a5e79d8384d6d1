//! What is seen of a clone while it is copied: lines of the log, metrics, and whether the share has space for more.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use smb::{Copied, CopyProgress, Failure, Space};

use super::call::Call;
use super::names::text;
use super::running::{MOST_FAILED, lock};
use super::{Create, Error, Volumes};

/// How often the log has a line of a clone.
const LINE: Duration = Duration::from_secs(60);

/// How many parts of a share, of a hundred, stay free.
const LEAST_FREE: u64 = 5;

pub(super) struct Watched<'a> {
    volumes: &'a Volumes,
    name: String,
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
    pub(super) fn begin(call: &Call<'a>, volume: &Create, from: &str) -> Self {
        let name = text(&volume.name);
        let (base, folder) = (&volume.base, volume.folder.path());
        tracing::info!("clone {name}: {from} is copied to {base}{folder}");
        Self {
            volumes: call.volumes,
            name,
            share: base.at(&smb::SharePath::root()),
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
            let (name, p) = (&self.name, progress);
            tracing::info!(
                "clone {name}: {} of {} entries, {} of {} bytes",
                p.entries,
                p.of_entries,
                p.bytes,
                p.of_bytes
            );
        }
        match progress.space.map(|space| self.expect_space(space)) {
            Some(Err(error)) => {
                self.stopped = Some(error);
                ControlFlow::Break(())
            }
            Some(Ok(())) | None => ControlFlow::Continue(()),
        }
    }

    fn expect_space(&mut self, space: Space) -> Result<(), Error> {
        let Space { free, total } = space;
        let share = &self.share;
        if self.free.is_none() {
            self.free = Some(free);
            let before = lock(&self.volumes.starved).get(&self.name).copied();
            if let Some(before) = before.filter(|before| free <= *before) {
                return Err(Error::Full(format!(
                    "{share}: {free} bytes are free, no more than the {before} when the clone last failed: make room"
                )));
            }
        }
        if u128::from(free) * 100 >= u128::from(total) * u128::from(LEAST_FREE) {
            return Ok(());
        }
        Err(Error::Full(format!(
            "{share} has {free} bytes free of {total}, and a clone leaves {LEAST_FREE} % free: make room"
        )))
    }

    pub(super) fn end(self, done: smb::Result<Copied>) -> Result<(), Error> {
        let (name, time) = (&self.name, self.begun.elapsed().as_secs());
        let failed = match (done, self.stopped) {
            (Ok(copied), _) => {
                lock(&self.volumes.starved).remove(&self.name);
                if copied.unproved > 0 {
                    tracing::warn!(
                        "clone {name}: of its source's folders only their kind shows that they are no links"
                    );
                }
                let (entries, bytes) = (copied.entries, copied.bytes);
                tracing::info!(
                    "clone {name}: copied in {time} s, {entries} entries, {bytes} bytes"
                );
                return Ok(());
            }
            (Err(_), Some(stopped)) => stopped,
            // Its source was moved by other ways than ours.
            (Err(error), None) if error.failure == Failure::NotFound => {
                Error::NotFound(error.to_string())
            }
            (Err(error), None) => Error::from(error),
        };
        let is_full = matches!(&failed, Error::Full(_))
            || matches!(&failed, Error::Share(error) if error.failure == Failure::Full);
        if let (true, Some(free)) = (is_full, self.free) {
            let mut starved = lock(&self.volumes.starved);
            if starved.len() >= MOST_FAILED {
                starved.clear();
            }
            let before = starved.entry(self.name.clone()).or_insert(free);
            *before = free.max(*before);
        }
        tracing::warn!("clone {name}: ended after {time} s: {failed}");
        Err(failed)
    }
}
