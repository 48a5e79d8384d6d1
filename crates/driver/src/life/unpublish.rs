use transport::Code;
use wincsi::{Error, WinPath};

use super::{Shared, Volumes};
use crate::record::{Lifetime, Record, VolumeHandle, What};

/// Why a volume was not unpublished.
#[derive(Debug, thiserror::Error)]
pub enum UnpublishError {
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl UnpublishError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        let Self::Shared(shared) = self;
        shared.code()
    }
}

impl Volumes {
    /// Unpublishes a volume: a link or an empty directory at the target goes. A directory with content is an error that
    /// names it, because it lies on the node's own disk.
    ///
    /// # Errors
    /// See [`UnpublishError`].
    pub fn unpublish(&self, volume: &VolumeHandle, target: &WinPath) -> Result<(), UnpublishError> {
        if self.is_inline(volume, target)? {
            return Ok(self.end_inline(volume, target)?);
        }
        let turn = self.running.at(volume, &target.folded());
        let turn = turn.map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let removed = match slot.get().map_err(Shared::from)? {
            // It was published while this call came.
            Some(record) if is_inline_at(&record, target) => {
                drop(turn);
                return Ok(self.end_inline(volume, target)?);
            }
            Some(_) => self.remove_entry(target, self.deadline()),
            None => self.unpublish_without_record(volume, target),
        };
        removed.map_err(Shared::from)?;
        self.shares.figures.forget_at(volume, target);
        let note = |record: &mut Record| {
            record.published.retain(|one| one != target);
        };
        Ok(slot.change(note).map_err(Shared::from)?)
    }

    /// At the target of an inline volume that another driver published is the link to the share itself.
    fn unpublish_without_record(
        &self,
        volume: &VolumeHandle,
        target: &WinPath,
    ) -> Result<(), Error> {
        match self.unrecorded_share(volume, target, self.deadline())? {
            Some(remote) => self.put_away_unrecorded(volume, target, &remote),
            None => self.remove_entry(target, self.deadline()),
        }
    }

    fn end_inline(&self, volume: &VolumeHandle, target: &WinPath) -> Result<(), Shared> {
        let _turn = self.running.alone(volume)?;
        let slot = self.store.slot(volume)?;
        match slot.get()? {
            Some(record) => self.end(record, &slot, target, self.deadline()),
            None => Ok(()),
        }
    }

    /// Whether the volume is its pod's own, and lies at the target itself.
    fn is_inline(&self, volume: &VolumeHandle, target: &WinPath) -> Result<bool, Shared> {
        let record = self.store.get(volume)?;
        Ok(record.is_some_and(|record| is_inline_at(&record, target)))
    }
}

fn is_inline_at(record: &Record, target: &WinPath) -> bool {
    let is_inline = matches!(
        &record.what,
        What::Share(share) if share.lifetime == Lifetime::Inline
    );
    is_inline && record.staging == *target
}
