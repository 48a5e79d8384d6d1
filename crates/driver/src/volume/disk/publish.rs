use wincsi::Deadline;

use super::StageError;
use crate::record::{Access, Disk, Record, Slot};
use crate::volume::{Publish, PublishError, Shared, Volumes};

impl Volumes {
    /// Makes sure that the staging path is the volume's live mount, and makes it so where it was, as after a reboot.
    pub(in crate::volume) fn prove_disk(
        &self,
        record: &Record<Disk>,
        slot: &Slot<'_>,
        request: &Publish,
        deadline: Deadline,
    ) -> Result<(), PublishError> {
        let live = |record: &Record<Disk>| {
            let found = self.live(record, &record.staging, deadline);
            found.map(|found| found.is_some()).map_err(Shared::from)
        };
        if live(record)? && self.is_proved_for_readers(record, deadline) {
            return Ok(());
        }
        let restaged = self.restage(record, slot, deadline);
        restaged.map_err(|error| match error {
            StageError::Shared(shared) => shared.into(),
            refused => request.not_staged_as(refused),
        })?;
        let record = slot.get().map_err(Shared::from)?;
        match record.and_then(Record::of).as_ref().map(live).transpose()? {
            Some(true) => Ok(()),
            _ => Err(request.not_staged()),
        }
    }

    /// Whether the disk of readers is known not to have become writable: a stage of this boot has looked.
    fn is_proved_for_readers(&self, record: &Record<Disk>, deadline: Deadline) -> bool {
        record.what.wanted.access == Access::ReadWrite
            || record.is_of_boot(self.boot(deadline).as_deref())
    }
}
