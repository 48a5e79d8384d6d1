use std::num::NonZeroU64;

use transport::Code;

use super::{ErrorOfKind, Shared, Volumes};
use crate::record::VolumeHandle;

/// The size that a volume is to have, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    /// At least, if it is requested.
    pub wanted: Option<u64>,
    /// At most, if there is a limit.
    pub limit: Option<NonZeroU64>,
}

/// Why a volume was not grown.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// This driver did not stage the volume.
    #[error("there is no volume {volume} on this node")]
    NoVolume {
        /// The volume.
        volume: VolumeHandle,
    },
    /// The volume is not at that path now; it may come back.
    #[error("volume {volume} is not at {path} now")]
    Away {
        /// The volume.
        volume: VolumeHandle,
        /// The path, as kubelet wrote it.
        path: String,
    },
    /// The kind does not grow the volume so.
    #[error(transparent)]
    OfKind(#[from] ErrorOfKind),
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl ExpandError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoVolume { .. } => Code::NotFound,
            Self::Away { .. } => Code::Unavailable,
            Self::OfKind(refused) => refused.code(),
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl From<wincsi::Error> for ExpandError {
    fn from(error: wincsi::Error) -> Self {
        Shared::from(error).into()
    }
}

impl Volumes {
    /// Grows a volume, as its kind does, and returns its size in bytes.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expand(
        &self,
        volume: &VolumeHandle,
        path: &str,
        capacity: Capacity,
    ) -> Result<u64, ExpandError> {
        let _turn = self.ctx.running.alone(volume).map_err(Shared::from)?;
        let record = self.ctx.store.get(volume).map_err(Shared::from)?;
        let record = record.ok_or_else(|| {
            let volume = volume.clone();
            ExpandError::NoVolume { volume }
        })?;
        let kind = self.kind_of(&record).map_err(Shared::from)?;
        kind.expand(record, path, capacity)
    }
}
