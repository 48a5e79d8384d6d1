use transport::Code;
use wincsi::WinPath;
use wincsi::volumes::Space;

use super::{DiskVolumes, Shared};
use crate::code::Rpc;
use crate::record::VolumeHandle;

/// Why a volume's figures are not known.
#[derive(Debug, thiserror::Error)]
pub enum StatsError {
    /// This driver did not stage the volume.
    #[error("there is no volume {volume} on this node")]
    NoVolume {
        /// The volume.
        volume: VolumeHandle,
    },
    /// The volume is not at that path.
    #[error("volume {volume} is not at {path}")]
    NotThere {
        /// The volume.
        volume: VolumeHandle,
        /// The path, as kubelet wrote it.
        path: String,
    },
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl StatsError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoVolume { .. } | Self::NotThere { .. } => Code::NotFound,
            Self::Shared(shared) => shared.code(Rpc::Stats),
        }
    }
}

impl DiskVolumes {
    /// Size and free space of a volume, in bytes. The volume is looked up before the path is read.
    ///
    /// # Errors
    /// See [`StatsError`].
    pub fn stats(&self, volume: &VolumeHandle, path: &str) -> Result<Space, StatsError> {
        let record = self.store.get(volume).map_err(Shared::from)?;
        let record = record.ok_or_else(|| no_volume(volume))?;
        let not_there = || StatsError::NotThere {
            volume: volume.clone(),
            path: path.to_owned(),
        };
        let at: WinPath = path.parse().map_err(|_| not_there())?;
        let deadline = self.deadline();
        let live = self.live(&record, &at, deadline).map_err(Shared::from)?;
        let found = live.ok_or_else(not_there)?;
        let space = self.node.volumes().stats(found.id(), deadline);
        Ok(space.map_err(Shared::from)?)
    }
}

fn no_volume(volume: &VolumeHandle) -> StatsError {
    let volume = volume.clone();
    StatsError::NoVolume { volume }
}
