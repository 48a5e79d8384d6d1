use transport::Code;
use wincsi::{Condition, Deadline, Error, WinPath};

use super::{DiskVolumes, Shared};
use crate::code::Rpc;
use crate::record::{Record, State, VolumeHandle};

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
            Self::Shared(shared) => shared.code(Rpc::Unstage),
        }
    }
}

impl DiskVolumes {
    /// Unstages a volume: what is cached is written, the volume is unmounted, and its disk goes offline unless it is in
    /// use. A disk that was pulled out is no error.
    ///
    /// Without a record the disk is not known: what is mounted at the staging path is unmounted, and the disk stays
    /// online.
    ///
    /// # Errors
    /// See [`UnstageError`].
    pub fn unstage(&self, volume: &VolumeHandle, staging: &WinPath) -> Result<(), UnstageError> {
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let Some(record) = slot.get().map_err(Shared::from)? else {
            tracing::warn!("volume {volume} is unstaged without a record: its disk stays online");
            let dismounted = self.dismount(staging, self.deadline());
            return Ok(dismounted.map_err(Shared::from)?);
        };
        self.check_unpublished(&record)?;
        let mark = |record: &mut Record| record.state = State::Unstaging;
        slot.change(mark).map_err(Shared::from)?;
        self.put_away(&record, staging).map_err(Shared::from)?;
        Ok(slot.remove().map_err(Shared::from)?)
    }

    /// A target that is gone is none, whoever removed it.
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

    fn put_away(&self, record: &Record, staging: &WinPath) -> Result<(), Error> {
        let deadline = self.deadline();
        self.dismount(staging, deadline)?;
        if *staging != record.staging {
            self.dismount(&record.staging, deadline)?;
        }
        self.release(record, deadline)
    }

    /// Takes the disk offline if nobody else uses it.
    fn release(&self, record: &Record, deadline: Deadline) -> Result<(), Error> {
        let disks = self.node.disks();
        disks.rescan(deadline)?;
        let offline = disks
            .find(&record.disk, deadline)
            .and_then(|disk| disks.take_offline(&disk, deadline));
        match offline {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            Err(error) if error.is(Condition::InUse) => {
                tracing::warn!("volume {}: its disk stays online: {error}", record.volume);
                Ok(())
            }
            done => done,
        }
    }
}
