//! Which volumes are abnormal, and the last figures of each.

use std::collections::BTreeMap;

use wincsi::volumes::Space;

use crate::record::{Store, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

#[derive(Debug, Default)]
pub(crate) struct Health(Unpoisoned<BTreeMap<VolumeHandle, State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) space: Option<Space>,
    pub(super) is_abnormal: bool,
}

impl Health {
    /// Changes what is known of a volume, and returns what `how` does; false of one that has no record any more.
    ///
    /// An unstage removes the record, and then has the volume forgotten: what is noted in one step with the look at the
    /// record is forgotten after it, or never noted.
    pub(super) fn note(
        &self,
        volume: &VolumeHandle,
        store: &Store,
        how: impl FnOnce(&mut State) -> bool,
    ) -> bool {
        let mut states = self.0.lock();
        store.has(volume) && how(states.entry(volume.clone()).or_default())
    }

    /// The figures of the last call that reached the volume.
    pub(crate) fn last_space(&self, volume: &VolumeHandle) -> Option<Space> {
        self.0.lock().get(volume).and_then(|state| state.space)
    }

    pub(crate) fn abnormal_volumes(&self) -> Vec<VolumeHandle> {
        let states = self.0.lock();
        let abnormal = states.iter().filter(|(_, state)| state.is_abnormal);
        abnormal.map(|(volume, _)| volume.clone()).collect()
    }

    /// The volume is unstaged.
    pub(crate) fn forget(&self, volume: &VolumeHandle) {
        self.0.lock().remove(volume);
    }
}
