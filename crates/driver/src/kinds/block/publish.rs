use wincsi::{Condition, Error, ResultExt as _};

use super::{Block, DiskRecord, Source, is_bound};
use crate::life::{Call, CallError, PublishCall, Stage, StageCall};
use crate::record::{Access, Record};

impl<S: Source> Block<S> {
    /// Makes sure that the staging path is the volume's live mount, and makes it so where it was, as after a reboot.
    pub fn prove(&self, call: PublishCall<'_>) -> Result<(), CallError> {
        let (publish, slot) = (call.publish, call.slot);
        let not_staged = || publish.not_staged(None);
        let record = call.record.of().ok_or_else(not_staged)?;
        let within = self.until(call.deadline);
        if within.is_proved(&record)? {
            return Ok(());
        }
        // Another publish of the volume may stage it anew now, or may just have done so.
        let running = &self.ctx.running;
        let _turn = running.at(&record.volume, &record.staging.folded())?;
        let record = slot.get()?.and_then(Record::of).ok_or_else(not_staged)?;
        if within.is_proved(&record)? {
            return Ok(());
        }
        let turn = StageCall {
            stage: &Stage::again(&record),
            slot,
            deadline: call.deadline,
            end: call.end,
        };
        self.restage(&turn, record)
            .map_err(|error| publish.not_staged_again(error))?;
        let record = slot.get()?.and_then(Record::of);
        match record.map(|record| within.is_live(&record)).transpose()? {
            Some(true) => Ok(()),
            _ => Err(not_staged()),
        }
    }
}

impl<S: Source> Call<'_, Block<S>> {
    fn is_proved(&self, record: &DiskRecord<S>) -> Result<bool, CallError> {
        let is_live = self.is_live(record)?;
        Ok(is_live && self.is_proved_for_readers(record) && self.is_in_place(record)?)
    }

    /// Whether the attached disk is still the one that was staged.
    fn is_in_place(&self, record: &DiskRecord<S>) -> Result<bool, Error> {
        if !S::ATTACHES {
            return Ok(true);
        }
        let disk = self.find_disk(record).none_if(Condition::NotFound)?;
        let identity = record.content.identity.as_deref();
        Ok(disk.is_some_and(|disk| is_bound(identity, &disk)))
    }

    fn is_live(&self, record: &DiskRecord<S>) -> Result<bool, CallError> {
        Ok(self.live(record, &record.staging)?.is_some())
    }

    /// Whether the disk of readers is known not to have become writable: a stage of this boot has looked.
    fn is_proved_for_readers(&self, record: &DiskRecord<S>) -> bool {
        let is_of_this_boot = || {
            let now = self.ctx.boot(self.deadline);
            now.is_some() && record.boot == now
        };
        record.content.wanted.access == Access::ReadWrite || is_of_this_boot()
    }
}
