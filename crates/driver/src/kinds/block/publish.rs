use wincsi::Deadline;

use super::{Block, Disk, Source};
use crate::life::{CallError, PublishCall};
use crate::record::{Access, Record};

impl<S: Source> Block<S> {
    /// Makes sure that the staging path is the volume's live mount, and makes it so where it was, as after a reboot.
    pub fn prove(&self, proof: PublishCall<'_>) -> Result<(), CallError> {
        let PublishCall {
            publish,
            slot,
            deadline,
            ..
        } = proof;
        let not_staged = || publish.not_staged(None);
        let record = proof.record.of().ok_or_else(not_staged)?;
        if self.is_proved(&record, deadline)? {
            return Ok(());
        }
        // Another publish of the volume may stage it anew now, or may just have done so.
        let running = &self.ctx.running;
        let _turn = running.at(&record.volume, &record.staging.folded())?;
        let record = slot.get()?.and_then(Record::of).ok_or_else(not_staged)?;
        if self.is_proved(&record, deadline)? {
            return Ok(());
        }
        self.restage(&record, slot, deadline)
            .map_err(|error| publish.not_staged_again(error))?;
        let record = slot.get()?.and_then(Record::of);
        let is_live = |record| self.is_live(&record, deadline);
        match record.map(is_live).transpose()? {
            Some(true) => Ok(()),
            _ => Err(not_staged()),
        }
    }

    fn is_proved(
        &self,
        record: &Record<Disk<S::Spec>>,
        deadline: Deadline,
    ) -> Result<bool, CallError> {
        Ok(self.is_live(record, deadline)? && self.is_proved_for_readers(record, deadline))
    }

    fn is_live(
        &self,
        record: &Record<Disk<S::Spec>>,
        deadline: Deadline,
    ) -> Result<bool, CallError> {
        Ok(self.live(record, &record.staging, deadline)?.is_some())
    }

    /// Whether the disk of readers is known not to have become writable: a stage of this boot has looked.
    fn is_proved_for_readers(&self, record: &Record<Disk<S::Spec>>, deadline: Deadline) -> bool {
        let is_of_this_boot = || {
            let now = self.ctx.boot(deadline);
            now.is_some() && record.boot == now
        };
        record.content.wanted.access == Access::ReadWrite || is_of_this_boot()
    }
}
