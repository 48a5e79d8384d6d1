use transport::Code;
use wincsi::Error;
use wincsi::volumes::{FoundVolume, NewSize};

use super::{DiskVolumes, Shared, place};
use crate::record::{Access, Record, VolumeHandle};

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
    /// The disk has not grown as far yet.
    #[error(
        "the disk of volume {volume} has {disk} bytes, and {wanted} are wanted: it has not grown yet"
    )]
    TooSmall {
        /// The volume.
        volume: VolumeHandle,
        /// The disk's length in bytes.
        disk: u64,
        /// The size that is wanted.
        wanted: u64,
    },
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
            Self::Away { .. } | Self::TooSmall { .. } => Code::Unavailable,
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl DiskVolumes {
    /// Grows a volume to the end of its disk, and returns its size in bytes. A read-only volume keeps its size.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expand(
        &self,
        volume: &VolumeHandle,
        path: &str,
        wanted: Option<u64>,
    ) -> Result<u64, ExpandError> {
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let record = self.store.get(volume).map_err(Shared::from)?;
        let record = record.ok_or_else(|| {
            let volume = volume.clone();
            ExpandError::NoVolume { volume }
        })?;
        let away = || ExpandError::Away {
            volume: volume.clone(),
            path: path.to_owned(),
        };
        let at = place(path).map_err(|_| away())?;
        let live = self.live(&record, &at, self.deadline());
        let found = live.map_err(Shared::from)?.ok_or_else(away)?;
        let disk = self.disk_size(&found).map_err(Shared::from)?;
        if let Some(wanted) = wanted.filter(|wanted| disk < *wanted) {
            let volume = volume.clone();
            return Err(ExpandError::TooSmall {
                volume,
                disk,
                wanted,
            });
        }
        let grown = self.grow(&found, record.wanted.access);
        let size = grown.map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let note = |record: &mut Record| record.size = Some(size);
        slot.change(note).map_err(Shared::from)?;
        Ok(size)
    }

    /// The length of the volume's disk, after the node has looked whether it grew.
    fn disk_size(&self, volume: &FoundVolume) -> Result<u64, Error> {
        let (disks, deadline) = (self.node.disks(), self.deadline());
        disks.rescan(deadline)?;
        let disk = self.node.volumes().disk_number(volume.id(), deadline)?;
        disks.size(disk, deadline)
    }

    fn grow(&self, volume: &FoundVolume, access: Access) -> Result<u64, Error> {
        let (volumes, deadline) = (self.node.volumes(), self.deadline());
        if access == Access::ReadWrite {
            volumes.resize(volume, NewSize::Maximum, deadline)?;
        }
        Ok(volumes.stats(volume.id(), deadline)?.total)
    }
}
