use wincsi::Deadline;

use super::StageError;
use crate::life::{Publish, PublishError, Shared, Volumes};
use crate::record::{Access, Disk, Record, Slot};

impl Volumes {
    /// Makes sure that the staging path is the volume's live mount, and makes it so where it was, as after a reboot.
    pub(crate) fn prove_disk(
        &self,
        record: &Record<Disk>,
        slot: &Slot<'_>,
        request: &Publish,
        deadline: Deadline,
    ) -> Result<(), PublishError> {
        if self.is_proved(record, deadline)? {
            return Ok(());
        }
        // Another publish of the volume may stage it anew now, or may just have done so.
        let turn = self.running.at(&record.volume, &record.staging.folded());
        let _turn = turn.map_err(Shared::from)?;
        let record = slot.get().map_err(Shared::from)?.and_then(Record::of);
        let record = record.ok_or_else(|| request.not_staged())?;
        if self.is_proved(&record, deadline)? {
            return Ok(());
        }
        let restaged = self.restage(&record, slot, deadline);
        restaged.map_err(|error| match error {
            StageError::Shared(shared) => shared.into(),
            refused => request.not_staged_as(refused),
        })?;
        let record = slot.get().map_err(Shared::from)?.and_then(Record::of);
        let is_live = |record| self.is_live(&record, deadline);
        match record.map(is_live).transpose()? {
            Some(true) => Ok(()),
            _ => Err(request.not_staged()),
        }
    }

    fn is_proved(&self, record: &Record<Disk>, deadline: Deadline) -> Result<bool, Shared> {
        Ok(self.is_live(record, deadline)? && self.is_proved_for_readers(record, deadline))
    }

    fn is_live(&self, record: &Record<Disk>, deadline: Deadline) -> Result<bool, Shared> {
        Ok(self.live(record, &record.staging, deadline)?.is_some())
    }

    /// Whether the disk of readers is known not to have become writable: a stage of this boot has looked.
    fn is_proved_for_readers(&self, record: &Record<Disk>, deadline: Deadline) -> bool {
        let is_of_this_boot = || {
            let now = self.boot(deadline);
            now.is_some() && record.boot == now
        };
        record.what.wanted.access == Access::ReadWrite || is_of_this_boot()
    }
}
