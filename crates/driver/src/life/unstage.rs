use transport::Code;
use wincsi::{Deadline, Error, WinPath};

use super::{Shared, Volumes};
use crate::kinds::Kind;
use crate::record::{Record, Slot, State, VolumeHandle};

/// Why a volume was not unstaged.
#[derive(Debug, thiserror::Error)]
pub enum UnstageError {
    /// The volume is published: kubelet unpublishes first.
    #[error("volume {volume} is published at {target}")]
    Published {
        /// The volume.
        volume: VolumeHandle,
        /// A target.
        target: WinPath,
    },
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl UnstageError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Published { .. } => Code::FailedPrecondition,
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl Volumes {
    /// Unstages a volume, as its kind does. What is gone already is no error.
    ///
    /// Without a record it is what lies at the staging path, if kubelet's own file beside it names this driver and the
    /// volume. Otherwise what is mounted or linked there goes, and nothing else.
    ///
    /// # Errors
    /// See [`UnstageError`].
    pub fn unstage(&self, volume: &VolumeHandle, staging: &WinPath) -> Result<(), UnstageError> {
        let _turn = self.ctx.running.alone(volume).map_err(Shared::from)?;
        let slot = self.ctx.store.slot(volume).map_err(Shared::from)?;
        let Some(record) = slot.get().map_err(Shared::from)? else {
            let unstaged = self.unstage_unrecorded(volume, staging);
            return Ok(unstaged.map_err(Shared::from)?);
        };
        self.check_unpublished(&record)?;
        Ok(self.end(record, &slot, staging, self.ctx.deadline())?)
    }

    fn unstage_unrecorded(&self, volume: &VolumeHandle, staging: &WinPath) -> Result<(), Error> {
        let deadline = self.ctx.deadline();
        for kind in &self.kinds {
            if kind.unstage_foreign(volume, staging, deadline)? {
                return Ok(());
            }
        }
        self.ctx.remove_entry(staging, deadline)
    }

    /// Takes down what is left of a volume, and its record last.
    pub(super) fn end(
        &self,
        record: Record,
        slot: &Slot<'_>,
        staging: &WinPath,
        deadline: Deadline,
    ) -> Result<(), Shared> {
        let (volume, kind) = (record.volume.clone(), self.kind_of(&record)?);
        slot.change(|record| record.state = State::Unstaging)?;
        kind.unstage(record, staging, deadline)?;
        slot.remove()?;
        // Last: what a stats that runs beside noted meanwhile is forgotten too.
        self.forget(kind, &volume);
        Ok(())
    }

    pub(super) fn forget(&self, kind: &dyn Kind, volume: &VolumeHandle) {
        self.ctx.health.forget(volume);
        kind.forget(volume);
    }

    /// A target that is gone does not count.
    fn check_unpublished(&self, record: &Record) -> Result<(), UnstageError> {
        for target in &record.published {
            let files = self.ctx.node.filesystem();
            let exists = files.path_exists(target, self.ctx.deadline());
            if exists.map_err(Shared::from)? {
                return Err(UnstageError::Published {
                    volume: record.volume.clone(),
                    target: target.clone(),
                });
            }
        }
        Ok(())
    }
}
