//! What a stage that failed leaves.

use wincsi::{Cause, Condition, Deadline, Error, Feature};

use super::Staging;
use crate::code::Left;
use crate::kinds::share::Share;
use crate::life::CallError;
use crate::record::{Record, State, StoreError};

impl Staging<'_> {
    pub(super) fn fail(&self, error: Error) -> CallError {
        let is_over = !error.is_transient() && !matches!(error.cause, Cause::Deadline);
        self.settle(&error);
        let left = match &self.before {
            None if is_over || self.is_unmade(&error) => self.undo(),
            Some(before) if self.is_unmade(&error) || self.is_refused_anew(before, &error) => {
                self.stay_in(before.boot.as_deref());
                Left::Something
            }
            _ => Left::Something,
        };
        CallError::Node {
            error: Box::new(error),
            left,
        }
    }

    /// Whether the map ended and left nothing, also of a mapping that was to be made anew: then nobody waits for this
    /// volume's server, and what is mapped when kubelet calls again is another's.
    fn is_unmade(&self, error: &Error) -> bool {
        let is_mapped = || self.shares.is_mapped(&self.remote, self.turn.deadline);
        !is_open(error) && !is_mapped().unwrap_or(true)
    }

    /// Whether a volume of an earlier boot was refused by what others mapped in this one. Taken for one of this boot, it
    /// would be served by that at the next call.
    fn is_refused_anew(&self, before: &Record<Share>, error: &Error) -> bool {
        let is_ours = || self.shares.claims.is_ours(&self.turn.stage.volume);
        !is_open(error) && !before.is_of_boot(self.boot.as_deref()) && !is_ours()
    }

    /// The volume is of the boot in which it was mapped last.
    pub(super) fn stay_in(&self, boot: Option<&str>) {
        self.disown();
        let volume = &self.turn.stage.volume;
        self.shares.claims.stay_in(volume, boot);
        let noted = (self.turn.slot).change(|record| record.boot = boot.map(str::to_owned));
        warn_of_mark(noted);
    }

    /// A call that failed leaves no mapping that it made, unless it did not end or says that it could not remove it: then
    /// what is mapped is another's, or was left to the volume meanwhile.
    fn settle(&self, error: &Error) {
        if !self.shares.ctx.node.supports(Feature::FolderCheck) {
            return self.disown_if_others(error);
        }
        let may_stay = is_open(error) || error.is(Condition::NotReady);
        let (claims, volume) = (&self.shares.claims, &self.turn.stage.volume);
        if claims.settle(volume, may_stay) && !may_stay {
            self.note_made(|| claims.is_ours(volume));
        }
    }

    /// These failures are of a mapping that is there, which this call did not make.
    fn disown_if_others(&self, error: &Error) {
        let is_others =
            error.is(Condition::OtherOptions) || error.is(Condition::CredentialsConflict);
        if is_others && self.before.is_none() {
            self.disown();
        }
        let claims = &self.shares.claims;
        claims.settle(&self.turn.stage.volume, true);
    }

    pub(super) fn disown(&self) {
        self.shares.claims.disown(&self.turn.stage.volume);
        self.note_made(|| false);
    }

    fn note_made(&self, is_ours: impl FnOnce() -> bool) {
        let note = |record: &mut Record<Share>| record.content.made_mapping = is_ours();
        warn_of_mark(self.turn.slot.change_of(note));
    }

    /// The claim of a first stage that gets no record goes, and with it a mapping that was left to the volume meanwhile.
    pub(super) fn give_up(&self) {
        if self.before.is_some() {
            return;
        }
        let (claims, volume) = (&self.shares.claims, &self.turn.stage.volume);
        claims.leave(volume);
        let share = self.remote.share();
        if claims.has_ours(&share, self.boot.as_deref()) {
            let deadline = self.shares.ctx.deadline();
            if let Err(error) = self.shares.unmap_unless_used(&self.remote, deadline) {
                tracing::warn!("volume {volume}: {share} may stay mapped: {error}");
            }
        }
        claims.release(volume);
    }

    /// The record goes if nothing is left of the volume.
    pub(super) fn undo(&self) -> Left {
        self.turn
            .end_undo(self.take_back(self.shares.ctx.deadline()))
    }

    fn take_back(&self, deadline: Deadline) -> Result<(), Error> {
        warn_of_mark((self.turn.slot).change(|record| record.state = State::Unstaging));
        let (shares, record) = (self.shares, self.turn.slot.get().ok().flatten());
        match record.and_then(Record::of::<Share>) {
            // Link and mapping were there before the first stage of this driver, and pods may use them.
            Some(record) if record.content.taken_over => shares.release(&record.volume),
            Some(record) => shares.unstage_share(&record, &record.staging, deadline)?,
            None => {}
        }
        Ok(())
    }
}

fn warn_of_mark(marked: Result<(), StoreError>) {
    if let Err(error) = marked {
        tracing::warn!("the record is not marked: {error}");
    }
}

/// Whether nobody knows what became of the operation.
fn is_open(error: &Error) -> bool {
    matches!(error.cause, Cause::Deadline | Cause::Lost { .. })
}
