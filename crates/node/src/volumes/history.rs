//! What this process has answered about volumes, and how the formats ended that others wait for.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, PoisonError};

use os::{Extent, Os, VolumeId};

use super::VolumeError;

/// From so many answers on, those about volumes that are gone are dropped.
const MANY: usize = 1024;

/// Answers and outcomes by volume.
#[derive(Default)]
pub(crate) struct History {
    state: Mutex<State>,
    /// With which [`Leftover::content`] is made, so that nobody can make other content of that number.
    key: RandomState,
}

/// What a format of this process left on a volume that Windows does not mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leftover {
    pub(super) place: Extent,
    /// Of both ends of the volume.
    pub(super) content: u64,
}

#[derive(Default)]
struct State {
    next: u64,
    /// The last answer to "is it formatted?".
    answers: HashMap<VolumeId, bool>,
    formats: HashMap<VolumeId, Formats>,
    leftovers: HashMap<VolumeId, Leftover>,
}

/// The calls that want to format one volume.
#[derive(Default)]
struct Formats {
    callers: usize,
    /// When the last one ended that Windows was asked for, and how.
    last: Option<(u64, Result<(), VolumeError>)>,
}

/// A call that wants to format a volume, from before it waits for the volume's lock.
pub(super) struct Visit<'a> {
    history: &'a History,
    volume: VolumeId,
    since: u64,
}

impl History {
    /// Notes what a caller is told about a volume.
    pub(super) fn answered(&self, os: &Os, volume: VolumeId, is_formatted: bool) {
        if self.state().answers.len() >= MANY {
            self.drop_what_is_gone(os);
        }
        let mut state = self.state();
        state.answers.insert(volume, is_formatted);
        if is_formatted {
            state.leftovers.remove(&volume);
        }
    }

    /// The last answer of this process about a volume, if there was one.
    pub(super) fn last_answer(&self, volume: VolumeId) -> Option<bool> {
        self.state().answers.get(&volume).copied()
    }

    /// Begins a call that wants to format the volume.
    pub(super) fn begin(&self, volume: VolumeId) -> Visit<'_> {
        let mut state = self.state();
        let since = state.tick();
        state.formats.entry(volume).or_default().callers += 1;
        Visit {
            history: self,
            volume,
            since,
        }
    }

    /// Notes how a format ended that Windows was asked for, and what it left, and tells those who wait. To be
    /// called under the volume's lock.
    pub(super) fn ended(
        &self,
        volume: VolumeId,
        outcome: &Result<(), VolumeError>,
        left: Option<Leftover>,
    ) {
        let mut state = self.state();
        match left {
            None => state.leftovers.remove(&volume),
            Some(left) => state.leftovers.insert(volume, left),
        };
        let now = state.tick();
        if let Some(formats) = state.formats.get_mut(&volume) {
            formats.last = Some((now, outcome.clone()));
        }
    }

    /// What the last format of the volume left that this process had Windows do, if that failed.
    pub(super) fn leftover(&self, volume: VolumeId) -> Option<Leftover> {
        self.state().leftovers.get(&volume).copied()
    }

    pub(super) fn key(&self) -> &RandomState {
        &self.key
    }

    fn drop_what_is_gone(&self, os: &Os) {
        match os.volumes.list() {
            Ok(listed) => {
                let mut state = self.state();
                state.answers.retain(|id, _| listed.contains(id));
                state.leftovers.retain(|id, _| listed.contains(id));
            }
            Err(error) => tracing::debug!(%error, "answers about volumes that are gone are kept"),
        }
    }

    /// A panic elsewhere cannot leave the maps half changed: nothing in here can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Visit<'_> {
    /// How the format ended that another call had Windows do since this one came. To be called under the
    /// volume's lock.
    pub(super) fn outcome_of_another(&self) -> Option<Result<(), VolumeError>> {
        let state = self.history.state();
        let (ended, outcome) = state.formats.get(&self.volume)?.last.as_ref()?;
        (*ended > self.since).then(|| outcome.clone())
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut state = self.history.state();
        let Some(formats) = state.formats.get_mut(&self.volume) else {
            return;
        };
        formats.callers -= 1;
        if formats.callers == 0 {
            state.formats.remove(&self.volume);
        }
    }
}
