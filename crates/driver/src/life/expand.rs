use std::num::NonZeroU64;

use super::{Call, CallError, Volumes};
use crate::record::VolumeHandle;

/// The size that a volume is to have, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    /// At least, if it is requested.
    pub wanted: Option<u64>,
    /// At most, if there is a limit.
    pub limit: Option<NonZeroU64>,
}

impl Call<'_, Volumes> {
    /// Grows a volume, as its kind does, and returns its size in bytes.
    pub fn expand(
        &self,
        volume: &VolumeHandle,
        path: &str,
        capacity: Capacity,
    ) -> Result<u64, CallError> {
        let _turn = self.ctx.running.alone(volume)?;
        let record = self.ctx.store.get(volume)?;
        let record = record.ok_or_else(|| CallError::NoVolume(volume.clone()))?;
        let kind = self.kind_of(&record)?;
        kind.expand(record, path, capacity, self.deadline)
    }
}
