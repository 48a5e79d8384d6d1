use transport::Code;
use wincsi::{Deadline, Error, WinPath};

use super::{Shared, Volumes};
use crate::record::{ByKind, Record, Slot, State, VolumeHandle};

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
    /// Unstages a volume: writes what is cached, unmounts the volume, and takes its disk offline unless something else
    /// uses it. A disk that was pulled out is no error.
    ///
    /// Without a record the disk is the one that is mounted exactly at the staging path, if kubelet's own file beside it
    /// names this driver and the volume. Otherwise what is mounted there is unmounted, and the disk stays online. A link
    /// to a share goes with the mappings that nobody else uses, if that file names the volume, and alone otherwise.
    ///
    /// # Errors
    /// See [`UnstageError`].
    pub fn unstage(&self, volume: &VolumeHandle, staging: &WinPath) -> Result<(), UnstageError> {
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let Some(record) = slot.get().map_err(Shared::from)? else {
            let unstaged = self.unstage_without_record(volume, staging);
            return Ok(unstaged.map_err(Shared::from)?);
        };
        self.check_unpublished(&record)?;
        Ok(self.end(record, &slot, staging, self.deadline())?)
    }

    fn unstage_without_record(
        &self,
        volume: &VolumeHandle,
        staging: &WinPath,
    ) -> Result<(), Error> {
        match self.unrecorded_share(volume, staging, self.deadline())? {
            Some(remote) => self.put_away_unrecorded(volume, staging, &remote),
            None => self.unstage_unrecorded(volume, staging),
        }
    }

    /// Takes down what is left of a volume, and its record last.
    pub(crate) fn end(
        &self,
        record: Record,
        slot: &Slot<'_>,
        staging: &WinPath,
        deadline: Deadline,
    ) -> Result<(), Shared> {
        let volume = record.volume.clone();
        let mark = |record: &mut Record| record.state = State::Unstaging;
        slot.change(mark)?;
        self.put_away(record, staging, deadline)?;
        slot.remove()?;
        // Last: what a stats that runs beside noted meanwhile is forgotten too.
        self.health.forget(&volume);
        self.shares.figures.forget(&volume);
        Ok(())
    }

    /// A target that is gone does not count.
    fn check_unpublished(&self, record: &Record) -> Result<(), UnstageError> {
        for target in &record.published {
            let files = self.node.filesystem();
            let exists = files.path_exists(target, self.deadline());
            if exists.map_err(Shared::from)? {
                return Err(UnstageError::Published {
                    volume: record.volume.clone(),
                    target: target.clone(),
                });
            }
        }
        Ok(())
    }

    fn put_away(&self, record: Record, staging: &WinPath, deadline: Deadline) -> Result<(), Error> {
        match record.by_kind() {
            ByKind::Disk(record) => self.put_away_disk(&record, staging, deadline),
            ByKind::Share(record) => self.put_away_share(&record, staging, deadline),
        }
    }
}
