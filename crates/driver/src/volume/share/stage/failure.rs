//! What a stage that failed leaves.

use wincsi::{Cause, Condition, Deadline, Error};

use super::Staging;
use crate::code::Left;
use crate::record::{Record, Share, State};
use crate::volume::share::StageError;
use crate::volume::{NodeError, Shared};

impl Staging<'_> {
    pub(super) fn fail(&self, error: Error) -> StageError {
        let is_over = !error.is_transient() && !matches!(error.cause, Cause::Deadline);
        let left = match &self.before {
            None if is_over => {
                self.disown_if_others(&error);
                self.undo()
            }
            _ if !self.is_unmade(&error) => Left::Something,
            None => self.undo(),
            Some(before) => {
                self.stay_in(before.boot.as_deref());
                Left::Something
            }
        };
        Shared::from(Box::new(NodeError { error, left })).into()
    }

    /// Whether the map ended and left nothing, also of a mapping that was to be made anew: then nobody waits for this
    /// volume's server, and what is mapped when kubelet calls again is another's.
    fn is_unmade(&self, error: &Error) -> bool {
        let is_open = matches!(error.cause, Cause::Deadline | Cause::Lost { .. });
        let is_mapped = || self.volumes.is_mapped(&self.remote, self.deadline);
        !is_open && !is_mapped().unwrap_or(true)
    }

    /// The volume is of the boot in which it was mapped last.
    fn stay_in(&self, boot: Option<&str>) {
        self.disown();
        let volume = &self.request.volume;
        self.volumes.shares.claims.stay_in(volume, boot);
        let note = |record: &mut Record<Share>| record.boot = boot.map(str::to_owned);
        if let Err(error) = self.slot.change(note) {
            tracing::warn!("the record is not marked: {error}");
        }
    }

    /// These failures are of a mapping that is there, which this call did not make.
    fn disown_if_others(&self, error: &Error) {
        if error.is(Condition::OtherOptions) || error.is(Condition::CredentialsConflict) {
            self.disown();
        }
    }

    pub(super) fn disown(&self) {
        self.volumes.shares.claims.disown(&self.request.volume);
        let note = |record: &mut Record<Share>| record.what.made_mapping = false;
        if let Err(error) = self.slot.change(note) {
            tracing::warn!("the record is not marked: {error}");
        }
    }

    /// The record goes if nothing is left of the volume.
    pub(super) fn undo(&self) -> Left {
        let (volume, deadline) = (&self.request.volume, self.volumes.deadline());
        let undone = self.take_back(deadline);
        let undone = undone.map_err(Shared::from);
        match undone.and_then(|()| Ok(self.slot.remove()?)) {
            Ok(()) => Left::Nothing,
            Err(error) => {
                tracing::warn!("volume {volume}: cannot undo the stage: {error}");
                Left::Something
            }
        }
    }

    fn take_back(&self, deadline: Deadline) -> Result<(), Error> {
        let mark = |record: &mut Record| record.state = State::Unstaging;
        if let Err(error) = self.slot.change(mark) {
            tracing::warn!("the record is not marked: {error}");
        }
        match self.slot.get().ok().flatten().and_then(Record::of::<Share>) {
            // Link and mapping were there before the first stage of this driver, and pods may use them.
            Some(Record { volume, what, .. }) if what.taken_over => {
                self.volumes.shares.forget(&volume);
                Ok(())
            }
            Some(record) => self
                .volumes
                .put_away_share(&record, &record.staging, deadline),
            None => Ok(()),
        }
    }
}
