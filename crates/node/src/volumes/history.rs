//! What this process has answered about volumes, and how the formats ended that others wait for.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, PoisonError};

use os::{Extent, Os, VolumeId};

use super::VolumeError;
use crate::outcomes::{Outcomes, PendingCall};

/// From so many answers on, those about volumes that are gone are dropped.
const MANY: usize = 1024;

/// Answers and outcomes by volume.
#[derive(Default)]
pub(crate) struct History {
    state: Mutex<State>,
    /// How the formats ended that Windows was asked for.
    formats: Outcomes<VolumeId, Result<(), VolumeError>>,
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
    /// The last answer to "is it formatted?".
    answers: HashMap<VolumeId, bool>,
    leftovers: HashMap<VolumeId, Leftover>,
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

    /// Begins a call that wants to format the volume. To be called before the volume's lock is waited for.
    pub(super) fn begin(
        &self,
        volume: VolumeId,
    ) -> PendingCall<'_, VolumeId, Result<(), VolumeError>> {
        self.formats.begin(volume)
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
        drop(state);
        let formats = &self.formats;
        formats.publish(&volume, (), (formats.now(), outcome.clone()));
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
