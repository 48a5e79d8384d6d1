use super::unstage::stands;
use super::{Call, CallError, Volumes};
use crate::path::KubeletPath;
use crate::record::{Lifetime, Record, VolumeHandle};

impl Call<'_, Volumes> {
    /// Unpublishes a volume: a link or an empty directory at the target goes. A directory with content is an error that
    /// names it, because it lies on the node's own disk.
    pub fn unpublish(&self, volume: &VolumeHandle, target: &KubeletPath) -> Result<(), CallError> {
        let record = self.ctx.store.get(volume)?;
        if record.is_some_and(|record| is_inline_at(&record, target)) {
            return self.end_inline(volume, target);
        }
        let turn = self.ctx.running.at(volume, &target.folded())?;
        let slot = self.ctx.store.slot(volume)?;
        let removed = match slot.get()? {
            // It was published while this call came.
            Some(record) if is_inline_at(&record, target) => {
                drop(turn);
                return self.end_inline(volume, target);
            }
            Some(_) => Ok(self.ctx.remove_entry(target, self.deadline)?),
            None => self.unpublish_unrecorded(volume, target),
        };
        removed?;
        for kind in &self.kinds {
            kind.unpublished(volume, target);
        }
        slot.change(|record| record.published.retain(|one| one != target))
            .unwrap_or_else(stands);
        Ok(())
    }

    fn unpublish_unrecorded(
        &self,
        volume: &VolumeHandle,
        target: &KubeletPath,
    ) -> Result<(), CallError> {
        for kind in &self.kinds {
            if kind.unpublish_foreign(self.unrecorded(volume, target))? {
                return Ok(());
            }
        }
        Ok(self.ctx.remove_entry(target, self.deadline)?)
    }

    fn end_inline(&self, volume: &VolumeHandle, target: &KubeletPath) -> Result<(), CallError> {
        let _turn = self.ctx.running.alone(volume)?;
        let slot = self.ctx.store.slot(volume)?;
        match slot.get()? {
            Some(record) => self.end(record, &slot, target),
            None => Ok(()),
        }
    }
}

/// Whether the volume is its pod's own, and lies at the target itself.
fn is_inline_at(record: &Record, target: &KubeletPath) -> bool {
    record.lifetime == Lifetime::Inline && record.staging == *target
}
