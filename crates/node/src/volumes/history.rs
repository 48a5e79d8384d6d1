//! Answers of this process about volumes, and results of formats that other calls wait for.

use std::collections::HashMap;
use std::hash::RandomState;

use os::{Extent, Os, VolumeId};

use super::VolumeError;
use crate::outcomes::{Outcomes, PendingCall};
use crate::unpoisoned::Unpoisoned;

/// Above this number of answers, those about missing volumes are dropped.
const MANY: usize = 1024;

/// Answers and outcomes by volume.
#[derive(Default)]
pub(crate) struct History {
    state: Unpoisoned<State>,
    /// Results of the formats that Windows was called for.
    formats: Outcomes<VolumeId, Result<(), VolumeError>>,
    /// The key of [`Leftover::content`], so that nobody can craft other content with that hash.
    pub(super) key: RandomState,
}

/// The content that a failed format of this process left on a volume that Windows does not mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leftover {
    pub(super) place: Extent,
    /// The keyed hash of both ends of the volume.
    pub(super) content: u64,
}

#[derive(Default)]
struct State {
    /// The last result of `is_formatted` for each volume.
    answers: HashMap<VolumeId, bool>,
    leftovers: HashMap<VolumeId, Leftover>,
}

impl History {
    /// Records a result that a caller receives about a volume.
    pub(super) fn answered(&self, os: &Os, volume: VolumeId, is_formatted: bool) {
        if self.state.lock().answers.len() >= MANY {
            self.drop_what_is_gone(os);
        }
        let mut state = self.state.lock();
        state.answers.insert(volume, is_formatted);
        if is_formatted {
            state.leftovers.remove(&volume);
        }
    }

    /// The last result of this process about a volume, if there was one.
    pub(super) fn last_answer(&self, volume: VolumeId) -> Option<bool> {
        self.state.lock().answers.get(&volume).copied()
    }

    /// Begins a call that wants to format the volume. To be called before the wait for the volume's lock.
    pub(super) fn begin(
        &self,
        volume: VolumeId,
    ) -> PendingCall<'_, VolumeId, Result<(), VolumeError>> {
        self.formats.begin(volume)
    }

    /// Records the result of a format by Windows, with the content that it left, and publishes the result to
    /// waiting calls. To be called under the volume's lock.
    pub(super) fn ended(
        &self,
        volume: VolumeId,
        outcome: &Result<(), VolumeError>,
        left: Option<Leftover>,
    ) {
        let mut state = self.state.lock();
        match left {
            None => state.leftovers.remove(&volume),
            Some(left) => state.leftovers.insert(volume, left),
        };
        drop(state);
        let formats = &self.formats;
        formats.publish(&volume, (), (formats.now(), outcome.clone()));
    }

    /// The content left by this process's last format of the volume, if that failed.
    pub(super) fn leftover(&self, volume: VolumeId) -> Option<Leftover> {
        self.state.lock().leftovers.get(&volume).copied()
    }

    /// Whether a failed format of this process left this content on some volume.
    pub(super) fn has_left(&self, content: u64) -> bool {
        let state = self.state.lock();
        state.leftovers.values().any(|left| left.content == content)
    }

    fn drop_what_is_gone(&self, os: &Os) {
        match os.volumes.list() {
            Ok(listed) => {
                let mut state = self.state.lock();
                state.answers.retain(|id, _| listed.contains(id));
                state.leftovers.retain(|id, _| listed.contains(id));
            }
            Err(error) => tracing::debug!(%error, "answers about volumes that are gone are kept"),
        }
    }
}
