use super::{Call, CallError, Volumes};
use crate::kinds::Kind;
use crate::path::KubeletPath;
use crate::record::{Record, Slot, State, StoreError, VolumeHandle};

impl Call<'_, Volumes> {
    /// Unstages a volume, as its kind does. What is gone already is no error.
    ///
    /// Without a record it is what lies at the staging path, if kubelet's own file beside it names this driver and the
    /// volume. Otherwise what is mounted or linked there goes, and nothing else.
    pub fn unstage(&self, volume: &VolumeHandle, staging: &KubeletPath) -> Result<(), CallError> {
        let _turn = self.ctx.running.alone(volume)?;
        let slot = self.ctx.store.slot(volume)?;
        let Some(record) = slot.get()? else {
            return self.unstage_unrecorded(volume, staging);
        };
        self.check_unpublished(&record)?;
        self.end(record, &slot, staging)
    }

    fn unstage_unrecorded(&self, volume: &VolumeHandle, at: &KubeletPath) -> Result<(), CallError> {
        for kind in &self.kinds {
            if kind.unstage_foreign(self.unrecorded(volume, at))? {
                return Ok(());
            }
        }
        tracing::warn!("volume {volume} has no record: what is at {at} is removed");
        Ok(self.ctx.remove_entry(at, self.deadline)?)
    }

    /// Takes down what is left of a volume, and its record last.
    pub(super) fn end(
        &self,
        record: Record,
        slot: &Slot<'_>,
        staging: &KubeletPath,
    ) -> Result<(), CallError> {
        let (volume, kind) = (record.volume.clone(), self.kind_of(&record)?);
        slot.change(|record| record.state = State::Unstaging)
            .unwrap_or_else(stands);
        kind.unstage(record, staging, self.deadline)?;
        slot.remove()?;
        // Last: what a stats that runs beside noted meanwhile is forgotten too.
        self.forget(kind, &volume);
        Ok(())
    }

    /// A target that is gone does not count.
    fn check_unpublished(&self, record: &Record) -> Result<(), CallError> {
        for target in &record.published {
            let files = self.ctx.node.filesystem();
            if files.path_exists(target, self.deadline)? {
                let volume = record.volume.clone();
                return Err(CallError::Published(volume, target.clone()));
            }
        }
        Ok(())
    }
}

impl Volumes {
    pub(super) fn forget(&self, kind: &dyn Kind, volume: &VolumeHandle) {
        self.ctx.health.forget(volume);
        kind.forget(volume);
    }
}

/// A record was not written, as where the disk is full. To take a volume down, a call that is repeated needs no more than
/// the record that stands.
pub(super) fn stands(error: StoreError) {
    tracing::warn!("{error}: what stands there is enough");
}
