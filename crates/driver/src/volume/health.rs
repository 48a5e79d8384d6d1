//! Which volumes are abnormal, and the last figures of each.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wincsi::volumes::Space;

use crate::record::VolumeHandle;

/// What is known of the volumes' health.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<BTreeMap<VolumeHandle, State>>);

#[derive(Debug, Default)]
struct State {
    space: Option<Space>,
    abnormal: Option<String>,
}

/// Whether a report is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It is: the volume was in another state.
    Changed,
    /// It is not.
    Known,
}

impl Health {
    /// The volume is normal, and has these figures if they were read.
    pub(super) fn normal(&self, volume: &VolumeHandle, space: Option<Space>) -> News {
        let mut states = self.lock();
        let state = states.entry(volume.clone()).or_default();
        state.space = space.or(state.space);
        match state.abnormal.take() {
            Some(_) => News::Changed,
            None => News::Known,
        }
    }

    /// The volume is abnormal for this reason.
    pub(super) fn abnormal(&self, volume: &VolumeHandle, reason: &str) -> News {
        let mut states = self.lock();
        let state = states.entry(volume.clone()).or_default();
        match state.abnormal.replace(reason.to_owned()) {
            Some(_) => News::Known,
            None => News::Changed,
        }
    }

    /// The figures of the last call that reached the volume.
    pub(super) fn last_space(&self, volume: &VolumeHandle) -> Option<Space> {
        self.lock().get(volume).and_then(|state| state.space)
    }

    /// The abnormal volumes.
    pub(super) fn abnormal_volumes(&self) -> Vec<VolumeHandle> {
        let states = self.lock();
        let abnormal = states.iter().filter(|(_, state)| state.abnormal.is_some());
        abnormal.map(|(volume, _)| volume.clone()).collect()
    }

    /// The volume is unstaged.
    pub(super) fn forget(&self, volume: &VolumeHandle) {
        self.lock().remove(volume);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<VolumeHandle, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
