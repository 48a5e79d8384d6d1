use std::time::Duration;

use wincsi::Cause;
use wincsi::volumes::Space;

use super::{Call, CallError, Volumes, kubelet_path};
use crate::kinds::Kind;
use crate::record::{Lifetime, Record, VolumeHandle};

/// A volume that lives answers in less.
const PATIENCE: Duration = Duration::from_secs(10);

/// How full a volume is, in bytes: by the last call that reached it, if it is abnormal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub total: u64,
    /// `None` if no call of this process reached the volume.
    pub space: Option<Space>,
    /// What is wrong with the volume.
    pub abnormal: Option<String>,
}

impl Call<'_, Volumes> {
    /// Size and free space of a volume, and what is wrong with it. The volume is looked up before the path is parsed.
    ///
    /// An abnormal volume has the figures of the last call that reached it, because kubelet rejects an answer without
    /// usage.
    pub fn stats(&self, volume: &VolumeHandle, path: &str) -> Result<Stats, CallError> {
        let Some(record) = self.ctx.store.get(volume)? else {
            return self.stats_of_unrecorded(volume, path);
        };
        let not_there = || CallError::NotThere(volume.clone(), path.to_owned());
        let at = kubelet_path(path).map_err(|_| not_there())?;
        let kind = self.kind_of(&record)?;
        kind.check_usage(&record)?;
        let _waiting = self.ctx.waiting.begin(kind.waits_for(), record.lifetime)?;
        let is_hasty = self.ctx.left_until(self.deadline) < PATIENCE;
        let reason = match kind.usage(record.clone(), &at, self.deadline) {
            Ok(Some(space)) => {
                self.ctx.note_normal(volume, Some(space));
                return Ok(Stats::normal(space));
            }
            Ok(None) if !record.is_at(&at) => return Err(not_there()),
            Ok(None) => CallError::Away(volume.clone(), at.to_string()),
            // The client's time was over: nothing is known of the volume.
            Err(error) if is_hasty && error.cause == Cause::Deadline => return Err(error.into()),
            Err(error) => error.into(),
        };
        self.last_known(kind, record, reason)
    }

    fn stats_of_unrecorded(&self, volume: &VolumeHandle, path: &str) -> Result<Stats, CallError> {
        let (waiting, persistent) = (&self.ctx.waiting, Lifetime::Persistent);
        let no_volume = || CallError::NoVolume(volume.clone());
        let at = kubelet_path(path).map_err(|_| no_volume())?;
        for kind in &self.kinds {
            let _waiting = waiting.begin(kind.waits_for(), persistent)?;
            if let Some(space) = kind.usage_of_foreign(self.unrecorded(volume, &at))? {
                return Ok(Stats::normal(space));
            }
        }
        Err(no_volume())
    }

    /// The size alone, of the record, if another process read the figures.
    fn last_known(
        &self,
        kind: &dyn Kind,
        record: Record,
        reason: CallError,
    ) -> Result<Stats, CallError> {
        let text = reason.to_string();
        self.ctx.note_abnormal(&record, kind.boot(), &text);
        let space = self.ctx.health.last_space(&record.volume);
        let total = space.map(|space| space.total).or_else(|| kind.size(record));
        Ok(Stats {
            total: total.ok_or(reason)?,
            space,
            abnormal: Some(text),
        })
    }
}

impl Stats {
    fn normal(space: Space) -> Self {
        Self {
            total: space.total,
            space: Some(space),
            abnormal: None,
        }
    }

    /// What is occupied.
    pub fn used(&self) -> Option<u64> {
        self.space
            .map(|space| space.total.saturating_sub(space.free))
    }
}
