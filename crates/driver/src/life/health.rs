//! Which volumes are abnormal, and the last figures of each.

use std::collections::BTreeMap;

use wincsi::volumes::Space;

use crate::record::VolumeHandle;
use crate::unpoisoned::Unpoisoned;

/// What is known of the volumes' health.
#[derive(Debug, Default)]
pub(crate) struct Health(Unpoisoned<BTreeMap<VolumeHandle, State>>);

#[derive(Debug, Default)]
struct State {
    space: Option<Space>,
    is_abnormal: bool,
}

/// Whether a report is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is: the volume was in another state.
    Changed,
    /// It is not.
    Known,
}

impl News {
    fn of(is_news: bool) -> Self {
        match is_news {
            true => Self::Changed,
            false => Self::Known,
        }
    }
}

impl Health {
    /// The volume is normal, and has these figures if they were read. Of one that has no record any more nothing is
    /// noted.
    pub(crate) fn normal(
        &self,
        volume: &VolumeHandle,
        space: Option<Space>,
        is_recorded: impl FnOnce() -> bool,
    ) -> News {
        self.note(volume, is_recorded, |state| {
            state.space = space.or(state.space);
            News::of(std::mem::replace(&mut state.is_abnormal, false))
        })
    }

    /// The volume is abnormal. Of one that has no record any more nothing is noted.
    pub(crate) fn abnormal(
        &self,
        volume: &VolumeHandle,
        is_recorded: impl FnOnce() -> bool,
    ) -> News {
        self.note(volume, is_recorded, |state| {
            News::of(!std::mem::replace(&mut state.is_abnormal, true))
        })
    }

    /// An unstage removes the record, and then has the volume forgotten: what is noted in one step with the look at the
    /// record is forgotten after it, or never noted.
    fn note(
        &self,
        volume: &VolumeHandle,
        is_recorded: impl FnOnce() -> bool,
        how: impl FnOnce(&mut State) -> News,
    ) -> News {
        let mut states = self.0.lock();
        match is_recorded() {
            true => how(states.entry(volume.clone()).or_default()),
            false => News::Known,
        }
    }

    /// The figures of the last call that reached the volume.
    pub(crate) fn last_space(&self, volume: &VolumeHandle) -> Option<Space> {
        self.0.lock().get(volume).and_then(|state| state.space)
    }

    /// The abnormal volumes.
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
