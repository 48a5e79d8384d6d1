//! What a stage that failed leaves.

use wincsi::{Cause, Condition, Deadline, Error, Feature};

use super::ShareStage;
use crate::code::Leftovers;
use crate::kinds::share::Share;
use crate::leases::{Ended, Owner};
use crate::life::{CallError, may_come_through};
use crate::record::{Record, State, StoreError};

impl ShareStage<'_> {
    pub(super) fn fail(&self, error: Error) -> CallError {
        let is_over = !may_come_through(&error);
        self.end_presumption(&error);
        let left = match &self.before {
            None if is_over || self.is_unmade(&error) => self.undo(),
            Some(before) if self.is_unmade(&error) => {
                self.end_call(Ended::Gone);
                self.keep_boot(before.boot.as_deref());
                Leftovers::Maybe
            }
            Some(before) if self.is_refused_anew(before, &error) => {
                self.keep_boot(before.boot.as_deref());
                Leftovers::Maybe
            }
            _ => Leftovers::Maybe,
        };
        CallError::Node {
            error: Box::new(error),
            left,
        }
    }

    /// Whether the map ended and left nothing, also of a mapping that was to be made anew: then nobody waits for this
    /// volume's server, and what is mapped when kubelet calls again is another's.
    fn is_unmade(&self, error: &Error) -> bool {
        let mappings = || self.shares.mappings();
        !is_open(error) && mappings().is_ok_and(|mappings| !mappings.reach(self.remote.path()))
    }

    /// Whether a volume of an earlier boot was refused by what others mapped in this one. Taken for one of this boot, it
    /// would be served by that at the next call.
    fn is_refused_anew(&self, before: &Record<Share>, error: &Error) -> bool {
        let is_ours = || self.shares.leases.owner(&self.turn.stage.volume) == Owner::Ours;
        !is_open(error) && !before.is_of_boot(self.boot.as_deref()) && !is_ours()
    }

    /// The volume is of the boot in which it was mapped last.
    pub(super) fn keep_boot(&self, boot: Option<&str>) {
        self.end_call(Ended::InVain);
        let volume = &self.turn.stage.volume;
        self.shares.leases.set_boot(volume, boot);
        let noted = (self.turn.slot).change(|record| record.boot = boot.map(str::to_owned));
        warn_of_mark(noted);
    }

    /// A call that failed leaves no mapping that it made, unless it did not end or says that it could not remove it: then
    /// what is mapped is another's, or was left to the volume meanwhile.
    fn end_presumption(&self, error: &Error) {
        let may_stay = match self.shares.ctx.has(Feature::FolderCheck) {
            true => is_open(error) || error.is(Condition::NotReady),
            false => !self.is_of_foreign_mapping(error),
        };
        self.end_call(match may_stay {
            true => Ended::MayBeMade,
            false => Ended::InVain,
        });
    }

    /// Whether a failure is of a mapping that is there, which this call did not make.
    fn is_of_foreign_mapping(&self, error: &Error) -> bool {
        let is_foreign =
            error.is(Condition::OtherOptions) || error.is(Condition::CredentialsConflict);
        is_foreign && self.before.is_none()
    }

    pub(super) fn end_call(&self, ended: Ended) {
        let (leases, volume) = (&self.shares.leases, &self.turn.stage.volume);
        warn_of_mark(leases.end_call(volume, ended));
    }

    /// A first stage that cannot begin has no record and no user of the mapping, and what was left to it meanwhile goes.
    pub(super) fn abandon_first_stage(&self) {
        if self.before.is_some() {
            return;
        }
        let (leases, volume) = (&self.shares.leases, &self.turn.stage.volume);
        leases.leave(volume);
        let share = self.remote.share();
        if leases.is_ours(&share, self.boot.as_deref()) {
            let deadline = self.turn.deadline_of_undo();
            if let Err(error) = self.shares.until(deadline).unmap_unless_used(&self.remote) {
                tracing::warn!("volume {volume}: {share} may stay mapped: {error}");
            }
        }
        warn_of_mark(leases.release(volume));
        warn_of_mark(self.turn.slot.remove());
    }

    /// The record goes if nothing is left of the volume.
    pub(super) fn undo(&self) -> Leftovers {
        self.turn
            .end_undo(self.revert(self.turn.deadline_of_undo()))
    }

    fn revert(&self, deadline: Deadline) -> Result<(), CallError> {
        warn_of_mark((self.turn.slot).change(|record| record.state = State::Unstaging));
        let (shares, record) = (
            self.shares.until(deadline),
            self.turn.slot.get().ok().flatten(),
        );
        match record.and_then(Record::of::<Share>) {
            // Link and mapping were there before the first stage of this driver, and pods may use them.
            Some(record) if record.content.taken_over => shares.release(&record.volume)?,
            Some(record) => shares.unstage_share(&record, &record.staging)?,
            None => {}
        }
        Ok(())
    }
}

fn warn_of_mark(marked: Result<(), StoreError>) {
    if let Err(error) = marked {
        tracing::warn!("the record or the lease is not marked: {error}");
    }
}

/// Whether nobody knows what became of the operation.
fn is_open(error: &Error) -> bool {
    matches!(error.cause, Cause::Deadline | Cause::Lost { .. })
}
