use std::num::NonZeroU64;

use transport::Code;
use wincsi::volumes::{FoundVolume, NewSize, VolumeId, disk_size_of};
use wincsi::{Condition, Deadline, Error, Feature};

use crate::life::{Shared, Volumes, place};
use crate::record::{Access, ByKind, Disk, Record, VolumeHandle};

/// What csi-proxy grows a volume by at least, in bytes.
const LEAST_GROWTH: u64 = 100 << 20;

/// Sizes are taken down to whole MiB.
const MIB: u64 = 1 << 20;

/// What tables and the partition that Windows reserves for itself take of a disk at most: less than this.
const BESIDE_THE_VOLUME: u64 = 256 * MIB;

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
    /// The disk has grown by less than the host grows a volume by.
    #[error(
        "the disk of volume {volume} has grown by {grown} bytes, and -host=proxy grows a volume by {least_growth} or \
         more: request {least} bytes, or use -host=native",
        least_growth = LEAST_GROWTH
    )]
    TooLittle {
        /// The volume.
        volume: VolumeHandle,
        /// By how much the disk has grown, in bytes.
        grown: u64,
        /// The least size at which the volume grows, in bytes.
        least: u64,
    },
    /// Another partition lies behind the volume's, or the partition table does not reach to the end of the disk.
    #[error("volume {volume} has all that it can have of its disk, {size} bytes: {why}")]
    NoRoom {
        /// The volume.
        volume: VolumeHandle,
        /// Its size in bytes.
        size: u64,
        /// Why it has no more.
        why: Box<Error>,
    },
    /// The disk is larger than the volume may become, and a volume grows to the end of its disk.
    #[error(
        "the disk of volume {volume} has {disk} bytes, to which the volume would grow, and the request has a limit of {limit}"
    )]
    TooLarge {
        /// The volume.
        volume: VolumeHandle,
        /// The disk's length in bytes.
        disk: u64,
        /// The most that the volume may have.
        limit: u64,
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
            Self::TooLarge { .. } | Self::TooLittle { .. } => Code::OutOfRange,
            // With this code alone each kubelet lets pods start, grown or not.
            Self::NoRoom { .. } => Code::FailedPrecondition,
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl Capacity {
    /// Refuses a disk of another length, before anything is changed.
    fn check(self, volume: &VolumeHandle, disk: u64) -> Result<(), ExpandError> {
        let volume = volume.clone();
        match (self.wanted, self.limit.map(NonZeroU64::get)) {
            (_, Some(limit)) if limit < disk => Err(ExpandError::TooLarge {
                volume,
                disk,
                limit,
            }),
            (Some(wanted), _) if disk < wanted => Err(ExpandError::TooSmall {
                volume,
                disk,
                wanted,
            }),
            _ => Ok(()),
        }
    }
}

impl Volumes {
    /// Grows a volume to the end of its disk, and returns its size in bytes. A read-only volume keeps its size, and a share
    /// has none.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expand(
        &self,
        volume: &VolumeHandle,
        path: &str,
        capacity: Capacity,
    ) -> Result<u64, ExpandError> {
        let wanted = capacity.wanted;
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let record = self.store.get(volume).map_err(Shared::from)?;
        let record = record.ok_or_else(|| {
            let volume = volume.clone();
            ExpandError::NoVolume { volume }
        })?;
        let record = match record.by_kind() {
            ByKind::Disk(record) => record,
            // A share has no size of its own: what its volume may take is the server's to say.
            ByKind::Share(_) => return Ok(wanted.unwrap_or_default()),
        };
        let away = || ExpandError::Away {
            volume: volume.clone(),
            path: path.to_owned(),
        };
        let at = place(path).map_err(|_| away())?;
        let live = self.live(&record, &at, self.deadline());
        let found = live.map_err(Shared::from)?.ok_or_else(away)?;
        let disk = self.disk_size(&found).map_err(Shared::from)?;
        if record.what.wanted.access == Access::ReadWrite {
            capacity.check(volume, disk)?;
        }
        let grows_by_any = self.node.supports(Feature::SmallGrowth);
        let size = match grows_by_any {
            true => self.grow(&record, &found).map_err(Shared::from)?,
            false => self.grow_by_much(&record, &found, disk)?,
        };
        let disk_bytes = (!grows_by_any).then_some(disk);
        self.note_growth(volume, size, disk_bytes)?;
        if let Some(wanted) = wanted.and_then(NonZeroU64::new)
            && record.what.wanted.access == Access::ReadWrite
        {
            self.require_size(volume, &found, size, wanted)?;
        }
        Ok(size)
    }

    /// A volume that is far smaller than its disk has no room: a growth to the size says why.
    fn require_size(
        &self,
        volume: &VolumeHandle,
        found: &FoundVolume,
        size: u64,
        wanted: NonZeroU64,
    ) -> Result<(), ExpandError> {
        if size.saturating_add(BESIDE_THE_VOLUME) >= wanted.get() {
            return Ok(());
        }
        let (wanted, deadline) = (NewSize::Bytes(wanted), self.deadline());
        match self.node.volumes().resize(found, wanted, deadline) {
            Ok(_) => Ok(()),
            Err(why) if why.is(Condition::NoRoom) => Err(ExpandError::NoRoom {
                volume: volume.clone(),
                size,
                why: Box::new(why),
            }),
            Err(error) => Err(Shared::from(error).into()),
        }
    }

    /// The length of the volume's disk, after the node has looked whether it grew.
    fn disk_size(&self, volume: &FoundVolume) -> Result<u64, Error> {
        let deadline = self.deadline();
        self.node.disks().rescan(deadline)?;
        disk_size_of(volume.id(), self.node.as_ref(), deadline)
    }

    fn grow(&self, record: &Record<Disk>, volume: &FoundVolume) -> Result<u64, Error> {
        let (volumes, deadline) = (self.node.volumes(), self.deadline());
        if record.what.wanted.access == Access::ReadWrite {
            volumes.resize(volume, NewSize::Maximum, deadline)?;
        }
        Ok(volumes.stats(volume.id(), deadline)?.total)
    }

    /// Grows a volume through a host that reports success also when it leaves a growth undone because it is small. Then
    /// the volume is as large as before the call, and its disk is larger than when the volume was staged or grown last.
    fn grow_by_much(
        &self,
        record: &Record<Disk>,
        volume: &FoundVolume,
        disk: u64,
    ) -> Result<u64, ExpandError> {
        let before = self.node.volumes().stats(volume.id(), self.deadline());
        let before = before.map_err(Shared::from)?.total;
        let after = self.grow(record, volume).map_err(Shared::from)?;
        let base = record.what.disk_bytes.unwrap_or(disk);
        let grown = disk.saturating_sub(base);
        let is_undone = after <= before && (MIB..LEAST_GROWTH).contains(&grown);
        if is_undone && record.what.wanted.access == Access::ReadWrite {
            let (volume, least) = (record.volume.clone(), base + LEAST_GROWTH);
            return Err(ExpandError::TooLittle {
                volume,
                grown,
                least,
            });
        }
        Ok(after)
    }

    fn note_growth(
        &self,
        volume: &VolumeHandle,
        size: u64,
        disk_bytes: Option<u64>,
    ) -> Result<(), Shared> {
        let slot = self.store.slot(volume)?;
        Ok(slot.change(|record: &mut Record<Disk>| {
            record.what.size = Some(size);
            record.what.disk_bytes = disk_bytes;
        })?)
    }

    /// The length of the disk of a volume that was just staged, on hosts that may leave a growth undone. No stage fails for
    /// it: without it the next growth is taken for done.
    pub(crate) fn growth_base(&self, volume: VolumeId, deadline: Deadline) -> Option<u64> {
        if self.node.supports(Feature::SmallGrowth) {
            return None;
        }
        let length = disk_size_of(volume, self.node.as_ref(), deadline);
        length
            .inspect_err(|error| tracing::warn!("the length of the disk is not known: {error}"))
            .ok()
    }
}
