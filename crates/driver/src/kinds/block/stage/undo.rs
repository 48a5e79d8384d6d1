//! A stage that failed, and what it takes back.

use wincsi::disks::FoundDisk;
use wincsi::{Condition, Deadline, Error};

use super::{StageError, Staging};
use crate::code::Left;
use crate::life::{NodeError, Shared};

/// A failed step.
pub(crate) struct Failure {
    pub(crate) error: Box<StepError>,
    pub(crate) undo: Undo,
}

pub(crate) enum StepError {
    Refused(StageError),
    Node(Error),
    Shared(Shared),
}

/// What a failed call has to take back.
pub(crate) enum Undo {
    /// Nothing: it changed nothing, and nothing was there before.
    Unchanged,
    /// Nothing, because the volume was staged before it, or may be.
    StagedBefore,
    /// The mount, and the disk's coming online if that was this driver's doing.
    Mount {
        disk: Box<FoundDisk>,
        brought_online: bool,
    },
}

impl Failure {
    /// The same failure of a volume that was staged before the call.
    pub(crate) fn of_staged(self) -> Self {
        let undo = Undo::StagedBefore;
        Self { undo, ..self }
    }
}

impl Staging<'_> {
    pub(crate) fn fail(&self, Failure { error, undo }: Failure) -> StageError {
        let error = match *error {
            StepError::Refused(refused) => {
                return match undo {
                    Undo::Unchanged => refused,
                    Undo::StagedBefore | Undo::Mount { .. } => refused.unfinished(),
                };
            }
            StepError::Shared(shared) => return shared.into(),
            StepError::Node(error) => error,
        };
        let left = match undo {
            Undo::Unchanged => Left::Nothing,
            Undo::StagedBefore => Left::Something,
            Undo::Mount { .. } if error.is_transient() => Left::Something,
            Undo::Mount {
                disk,
                brought_online,
            } => self.undo(&disk, brought_online),
        };
        Shared::from(Box::new(NodeError { error, left })).into()
    }

    /// The record goes if nothing is left of the volume.
    fn undo(&self, disk: &FoundDisk, brought_online: bool) -> Left {
        let volume = &self.request.volume;
        let undone = self.take_back(disk, brought_online);
        let undone = undone.map_err(Shared::from);
        match undone.and_then(|()| Ok(self.slot.remove()?)) {
            Ok(()) => Left::Nothing,
            Err(error) => {
                tracing::warn!("volume {volume}: cannot undo the stage: {error}");
                Left::Something
            }
        }
    }

    fn take_back(&self, disk: &FoundDisk, brought_online: bool) -> Result<(), Error> {
        let deadline = self.volumes.deadline();
        self.volumes
            .dismount(&self.request.staging, None, deadline)?;
        if !brought_online || self.is_of_another(disk, deadline)? {
            return Ok(());
        }
        match self.volumes.node.disks().take_offline(disk, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            done => done,
        }
    }

    /// Whether another volume's record names the disk, which the pipes take offline whatever is mounted there.
    fn is_of_another(&self, disk: &FoundDisk, deadline: Deadline) -> Result<bool, Error> {
        let volume = &self.request.volume;
        let other = self
            .volumes
            .other_record_of(volume, disk, |_| true, deadline)?;
        if let Some(other) = &other {
            tracing::warn!("volume {volume}: its disk stays online for volume {other}");
        }
        Ok(other.is_some())
    }
}
