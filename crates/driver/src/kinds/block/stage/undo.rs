//! A stage that failed, and what it takes back.

use wincsi::disks::FoundDisk;
use wincsi::{Condition, ResultExt as _};

use super::DiskStage;
use crate::code::Leftovers;
use crate::kinds::block::{Leaves, Source, Use};
use crate::life::{CallError, may_come_through};

/// What a failed call has to take back.
pub(super) enum Undo {
    /// Nothing: it changed nothing, and nothing was there before.
    Unchanged,
    /// Nothing, because the volume was staged before it, or may be.
    StagedBefore,
    /// That the disk was attached.
    Attached,
    /// The mount, and the disk's coming online if that was this driver's doing.
    Mount {
        disk: Box<FoundDisk>,
        brought_online: bool,
    },
}

impl<S: Source> DiskStage<'_, S> {
    pub(super) fn fail(&self, error: CallError) -> CallError {
        let error = match error {
            CallError::Node { error, .. } => error,
            refused if refused.is_refusal() => {
                return match self.undo {
                    Undo::Unchanged => refused,
                    Undo::Attached if self.undo(None) == Leftovers::None => refused,
                    _ => refused.unfinished(),
                };
            }
            other => return other,
        };
        let left = match &self.undo {
            Undo::Unchanged => Leftovers::None,
            Undo::StagedBefore => Leftovers::Maybe,
            Undo::Attached | Undo::Mount { .. } if may_come_through(&error) => Leftovers::Maybe,
            Undo::Attached => self.undo(None),
            Undo::Mount {
                disk,
                brought_online,
            } => self.undo(Some((disk, *brought_online))),
        };
        CallError::Node { error, left }
    }

    /// The record goes if nothing is left of the volume.
    fn undo(&self, mount: Option<(&FoundDisk, bool)>) -> Leftovers {
        self.turn.end_undo(self.revert(mount))
    }

    fn revert(&self, mount: Option<(&FoundDisk, bool)>) -> Result<(), CallError> {
        let undo = self.block.until(self.turn.end);
        let (stage, deadline) = (self.turn.stage, undo.deadline);
        if let Some((disk, brought_online)) = mount {
            // csi-proxy mounts nothing where it does not go.
            let dismounted = undo.dismount(&stage.staging, None);
            dismounted.ok_if(Condition::PathRefused)?;
            // The pipes take a disk offline whatever is mounted there.
            if brought_online && !undo.is_of_another(&stage.volume, disk)? {
                let offline = undo.ctx.node.disks().take_offline(disk, deadline);
                offline.ok_if(Condition::NotFound)?;
            }
        }
        let of = Use::new(&stage.volume, &self.source);
        match S::ATTACHES {
            true if undo.source.is_own(&of) => undo.put_away(of, None, None),
            true => undo.source.detach(of, Leaves::InUse, deadline),
            false => Ok(()),
        }
    }
}
