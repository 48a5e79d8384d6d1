use std::num::NonZeroU64;

use wincsi::volumes::{FoundVolume, NewSize, VolumeId, disk_size_of};
use wincsi::{Condition, Error, Feature};

use super::{Block, DiskRecord, Refused, Source, require_bound};
use crate::life::{Call, CallError, Capacity, kubelet_path};
use crate::record::{Access, VolumeHandle};

/// What csi-proxy grows a volume by at least, in bytes.
pub(super) const LEAST_GROWTH: u64 = 100 << 20;

/// Sizes are taken down to whole MiB.
const MIB: u64 = 1 << 20;

/// What tables and the partition that Windows reserves for itself take of a disk at most: less than this.
const BESIDE_THE_VOLUME: u64 = 256 * MIB;

/// Refuses a disk of another length, before anything is changed.
fn check(capacity: Capacity, volume: &VolumeHandle, disk: u64) -> Result<(), Refused> {
    let volume = volume.clone();
    match (capacity.wanted, capacity.limit.map(NonZeroU64::get)) {
        (_, Some(limit)) if limit < disk => Err(Refused::TooLarge {
            volume,
            disk,
            limit,
        }),
        (Some(wanted), _) if disk < wanted => Err(Refused::TooSmall {
            volume,
            disk,
            wanted,
        }),
        _ => Ok(()),
    }
}

impl<S: Source> Call<'_, Block<S>> {
    /// Grows a volume to the end of its disk, and returns its size in bytes. A read-only volume keeps its size.
    pub(super) fn expand_disk(
        &self,
        record: &DiskRecord<S>,
        path: &str,
        capacity: Capacity,
    ) -> Result<u64, CallError> {
        let (volume, wanted) = (&record.volume, capacity.wanted);
        let away = || CallError::Away(volume.clone(), path.to_owned());
        let at = kubelet_path(path).map_err(|_| away())?;
        let live = self.live(record, &at)?;
        let found = live.ok_or_else(away)?;
        let disk = self.disk_size(&found)?;
        if S::ATTACHES {
            require_bound("grow", record, &self.find_disk(record)?)?;
        }
        let is_writable = record.content.wanted.access == Access::ReadWrite;
        if is_writable {
            check(capacity, volume, disk)?;
        }
        let grows_by_any = self.ctx.has(Feature::SmallGrowth);
        let (size, disk_bytes) = match grows_by_any {
            true => (self.grow(record, &found)?, None),
            false => (self.grow_by_much(record, &found, disk)?, Some(disk)),
        };
        self.note_growth(volume, size, disk_bytes)?;
        if let Some(wanted) = wanted.and_then(NonZeroU64::new)
            && is_writable
        {
            self.require_size((volume, &found), size, wanted)?;
        }
        Ok(size)
    }

    /// A volume that is far smaller than its disk has no room: a growth to the size says why.
    fn require_size(
        &self,
        (volume, found): (&VolumeHandle, &FoundVolume),
        size: u64,
        wanted: NonZeroU64,
    ) -> Result<(), CallError> {
        if size.saturating_add(BESIDE_THE_VOLUME) >= wanted.get() {
            return Ok(());
        }
        let wanted = NewSize::Bytes(wanted);
        match self.ctx.node.volumes().resize(found, wanted, self.deadline) {
            Ok(_) => Ok(()),
            Err(why) if why.is(Condition::NoRoom) => Err(Refused::NoRoom {
                volume: volume.clone(),
                size,
                why: Box::new(why),
            }
            .into()),
            Err(error) => Err(error.into()),
        }
    }

    /// The length of the volume's disk, after the node has looked whether it grew.
    fn disk_size(&self, volume: &FoundVolume) -> Result<u64, Error> {
        self.ctx.node.disks().rescan(self.deadline)?;
        disk_size_of(volume.id(), self.ctx.node.as_ref(), self.deadline)
    }

    fn grow(&self, record: &DiskRecord<S>, volume: &FoundVolume) -> Result<u64, Error> {
        let volumes = self.ctx.node.volumes();
        if record.content.wanted.access == Access::ReadWrite {
            volumes.resize(volume, NewSize::Maximum, self.deadline)?;
        }
        Ok(volumes.stats(volume.id(), self.deadline)?.total)
    }

    /// Grows a volume through a host that reports success also when it leaves a growth undone because it is small. Then
    /// the volume is as large as before the call, and its disk is larger than when the volume was staged or grown last.
    fn grow_by_much(
        &self,
        record: &DiskRecord<S>,
        volume: &FoundVolume,
        disk: u64,
    ) -> Result<u64, CallError> {
        let volumes = self.ctx.node.volumes();
        let before = volumes.stats(volume.id(), self.deadline)?.total;
        let after = self.grow(record, volume)?;
        let base = record.content.disk_bytes.unwrap_or(disk);
        let grown = disk.saturating_sub(base);
        let is_undone = after <= before && (MIB..LEAST_GROWTH).contains(&grown);
        if is_undone && record.content.wanted.access == Access::ReadWrite {
            let (volume, least) = (record.volume.clone(), base + LEAST_GROWTH);
            return Err(Refused::TooLittle {
                volume,
                grown,
                least,
            }
            .into());
        }
        Ok(after)
    }

    fn note_growth(
        &self,
        volume: &VolumeHandle,
        size: u64,
        disk_bytes: Option<u64>,
    ) -> Result<(), CallError> {
        let slot = self.ctx.store.slot(volume)?;
        Ok(slot.change_of(|record: &mut DiskRecord<S>| {
            record.content.size = Some(size);
            record.content.disk_bytes = disk_bytes;
        })?)
    }

    /// The length of the disk of a volume that was just staged, on hosts that may leave a growth undone. No stage fails for
    /// it: without it the next growth is taken for done.
    pub(crate) fn growth_base(&self, volume: VolumeId) -> Option<u64> {
        if self.ctx.has(Feature::SmallGrowth) {
            return None;
        }
        let length = disk_size_of(volume, self.ctx.node.as_ref(), self.deadline);
        length
            .inspect_err(|error| tracing::warn!("the length of the disk is not known: {error}"))
            .ok()
    }
}
