use transport::Code;
use wincsi::WinPath;

use super::{Shared, Volumes};
use crate::record::{Record, VolumeHandle};

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
        let turn = self.running.at(volume, &target.folded());
        let _turn = turn.map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        slot.get().map_err(Shared::from)?;
        let removed = self.remove_entry(target, self.deadline());
        removed.map_err(Shared::from)?;
        let note = |record: &mut Record| {
            record.published.retain(|one| one != target);
        };
        Ok(slot.change(note).map_err(Shared::from)?)
    }
}
