//! Growing a partition and its filesystem.

use std::num::NonZeroU64;

use os::schema::{codes, partition};
use os::{Arguments, Deadline, Value, VolumeId};

use super::fill::{Filling, Growth};
use super::place::Place;
use super::{NamedVolume, VolumeError};
use crate::disks::guard::Reach;
use crate::provider::ProviderError;
use crate::{DiskError, Node, storage};

const MIB: u64 = 1 << 20;

/// Growth below this is none. It is csi-proxy's rule, and a needed one: drivers ask for the maximum each
/// time that they stage a volume, and by a few MiB Windows's maximum may be another than ours.
const LEAST_GROWTH: u64 = 100 * MIB;

/// What stays free at a disk's end.
const KEPT: u64 = 2 * MIB;

/// Return codes that name no reason, after which the kernel is asked to grow the partition.
const WITHOUT_REASON: [u32; 3] = [
    codes::NOT_SUPPORTED.code,
    codes::UNSPECIFIED_ERROR.code,
    codes::FAILED.code,
];

/// Return codes of a provider that may have an old length of the disk
/// (kubernetes-csi/csi-proxy issue 195 has the first).
const OUT_OF_DATE: [u32; 2] = [
    codes::SIZE_NOT_SUPPORTED.code,
    codes::CACHE_OUT_OF_DATE.code,
];

/// How large a volume is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewSize {
    /// So many bytes. More than the disk allows is the same as [`NewSize::Maximum`] up to the disk's own length,
    /// where no partition is behind the volume's: what is missing then is what Windows keeps for tables.
    Bytes(NonZeroU64),
    /// As large as the disk allows.
    Maximum,
}

impl NewSize {
    /// Reads the size of a request: bytes, or zero for the maximum.
    ///
    /// # Errors
    /// It is negative.
    pub fn from_request(volume: VolumeId, size: i64) -> Result<Self, VolumeError> {
        let bytes = u64::try_from(size).map_err(|_| VolumeError::NegativeSize { volume, size })?;
        Ok(NonZeroU64::new(bytes).map_or(Self::Maximum, Self::Bytes))
    }

    /// In whole MiB, as partitions are. Less than one is no growth anywhere and stays as it is.
    fn aligned(self) -> Self {
        match self {
            Self::Bytes(bytes) => {
                let whole = NonZeroU64::new(bytes.get() - bytes.get() % MIB);
                Self::Bytes(whole.unwrap_or(bytes))
            }
            Self::Maximum => Self::Maximum,
        }
    }
}

/// What came of growing a volume. Sizes are those of its partition, in bytes; the filesystem on it is smaller
/// by what NTFS keeps for itself, less than 4 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resized {
    /// The partition was large enough, and its filesystem, which did not fill it, does now: an earlier call had
    /// not come to its end.
    Filled {
        /// The partition's.
        size: u64,
    },
    /// Partition and filesystem grew.
    Grown {
        /// What it was.
        from: u64,
        /// What it is.
        to: u64,
    },
    /// It was as large as it was to be, or larger, or smaller by less than 100 MiB, which are not worth a growth:
    /// nothing was done.
    Unchanged {
        /// What it was and is.
        size: u64,
    },
    /// It is as large as was asked for, but for such a rest, and the node does not say what it did. In this
    /// process it always does.
    Unreported,
}

/// One call of `ResizeVolume`.
pub(super) struct Resizing<'a> {
    pub(super) node: &'a Node,
    pub(super) volume: VolumeId,
    pub(super) named: NamedVolume<'a>,
    pub(super) deadline: Deadline,
}

impl Resizing<'_> {
    pub(super) fn run(&self, size: NewSize) -> Result<Resized, VolumeError> {
        let (named, reach) = (self.named, Reach::Files);
        let mut place = Place::take(self.node, "resize", named, reach, self.deadline)?;
        let from = place.partition.length;
        if let Some(target) = self.target(&mut place, size)? {
            let growth = self.grow_partition(&mut place, target)?;
            self.fill(&place, growth)?;
            let to = place.partition.length;
            return Ok(Resized::Grown { from, to });
        }
        let size = place.partition.length;
        Ok(match self.fill(&place, Growth::Nothing)? {
            Filling::Needed => Resized::Filled { size },
            Filling::NotNeeded => Resized::Unchanged { size },
        })
    }

    /// The size that the partition is to grow to; `None` when it is large enough.
    fn target(&self, place: &mut Place, size: NewSize) -> Result<Option<u64>, VolumeError> {
        let size = size.aligned();
        if let NewSize::Bytes(bytes) = size
            && is_enough(place, bytes.get())
        {
            return Ok(None);
        }
        self.see_the_disk_anew(place, size)?;
        let maximum = self.maximum(place)?;
        let target = match size {
            NewSize::Bytes(bytes) => bytes.get(),
            NewSize::Maximum => maximum,
        };
        if is_enough(place, target) {
            return Ok(None);
        }
        match target {
            _ if target <= maximum => Ok(Some(target)),
            _ if self.is_but_for_the_tables(place, target)? => Ok(Some(maximum)),
            _ => Err(VolumeError::TooLarge {
                volume: self.volume,
                size: target,
                maximum,
            }),
        }
    }

    /// Whether the volume has all of its disk that Windows gives to data, and the size counts the rest too: who
    /// grew a disk to a size often wants the volume to have just that.
    fn is_but_for_the_tables(&self, place: &Place, size: u64) -> Result<bool, VolumeError> {
        Ok(next(place).is_none() && size <= self.length_of_disk(place)?)
    }

    /// A disk that has grown says so to nobody by itself. Drivers have all disks looked at before
    /// they resize, so that is only done again for want of room.
    fn see_the_disk_anew(&self, place: &mut Place, size: NewSize) -> Result<(), VolumeError> {
        let disk = place.disk.number;
        self.node
            .check(self.deadline, "resize volume", &self.volume)?;
        let has_room = match size {
            NewSize::Bytes(bytes) => bytes.get() <= self.maximum(place)?,
            NewSize::Maximum => false,
        };
        if !has_room {
            storage::rescan(self.node)?;
        }
        let updated = self.node.os().disks.update_properties(disk);
        updated.map_err(DiskError::kernel(disk))?;
        place.look_again(self.node, self.volume)
    }

    /// From the partition's start to the next one's, or to 2 MiB before the disk's end, where the
    /// second copy of the partition table is; whole MiB. There the provider's own largest partition ends
    /// (dsccommunity/StorageDsc issue 304). `GetSupportedSize` is not asked, as it needs the defragmenter
    /// (aws-ebs-csi-driver#2877).
    fn maximum(&self, place: &Place) -> Result<u64, VolumeError> {
        let end_of_disk = self.length_of_disk(place)?.saturating_sub(KEPT);
        let end = next(place).unwrap_or(end_of_disk);
        let room = end.saturating_sub(place.partition.offset);
        Ok(room - room % MIB)
    }

    fn length_of_disk(&self, place: &Place) -> Result<u64, VolumeError> {
        let disk = place.disk.number;
        let length = self.node.os().disks.length(disk);
        Ok(length.map_err(DiskError::kernel(disk))?)
    }

    fn grow_partition(&self, place: &mut Place, target: u64) -> Result<Growth, VolumeError> {
        // The kernel knows how long the disk is; the provider, which is to grow the partition, may not.
        place.disk.refresh(self.node);
        let mut resized = self.grow_by_the_provider(place, target)?;
        if let Err(error) = &resized
            && is_out_of_date(error)
            && !is_enough(place, target)
        {
            tracing::warn!(volume = %self.volume, %error, "growing a partition again, now that the storage provider has looked at all disks");
            storage::rescan(self.node)?;
            resized = self.grow_by_the_provider(place, target)?;
        }
        match resized {
            // The provider knows what it has done itself.
            Ok(()) => return Ok(Growth::Both),
            Err(error) if !is_enough(place, target) => {
                self.grow_by_the_kernel(place, target, error)?;
            }
            // Of a method that returned no code the partition shows it, and the filesystem is looked at next.
            Err(error) => {
                tracing::warn!(volume = %self.volume, %error, "the partition grew, its filesystem perhaps not");
            }
        }
        place.disk.refresh(self.node);
        Ok(Growth::Partition)
    }

    /// What the provider answers, and the partition as it is then.
    fn grow_by_the_provider(
        &self,
        place: &mut Place,
        target: u64,
    ) -> Result<Result<(), ProviderError>, VolumeError> {
        self.node
            .check(self.deadline, "resize volume", &self.volume)?;
        let row = place.row(self.node, self.deadline)?;
        let size = Value::uint64(target);
        let arguments = Arguments::none().with(partition::resize::SIZE.name, size);
        let resized = row.callee(self.node).invoke(&partition::RESIZE, &arguments);
        place.look_again(self.node, self.volume)?;
        Ok(resized)
    }

    /// Only after the provider's own attempt has really ended, and only by what is missing then: the
    /// call is relative.
    fn grow_by_the_kernel(
        &self,
        place: &mut Place,
        target: u64,
        error: ProviderError,
    ) -> Result<(), VolumeError> {
        match &error {
            ProviderError::Refused { code, .. } if WITHOUT_REASON.contains(code) => {}
            _ => return Err(error.into()),
        }
        if self.keeps_its_size()? {
            return Err(error.into());
        }
        tracing::warn!(volume = %self.volume, %error, "growing a partition without the storage provider");
        let disk = place.disk.number;
        let by = target - place.partition.length;
        let grown = self
            .node
            .os()
            .disks
            .grow_partition(disk, place.partition.number, by);
        grown.map_err(DiskError::kernel(disk))?;
        place.look_again(self.node, self.volume)
    }
}

/// Whether the partition is as long as it is to be, or by so little shorter that it is left at that.
fn is_enough(place: &Place, size: u64) -> bool {
    size < place.partition.length.saturating_add(LEAST_GROWTH)
}

/// Where the partition behind this one begins.
fn next(place: &Place) -> Option<u64> {
    let others = place.layout.partitions.iter().map(|other| other.offset);
    others
        .filter(|offset| *offset > place.partition.offset)
        .min()
}

fn is_out_of_date(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Refused { code, .. } if OUT_OF_DATE.contains(code))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_request_names_bytes_the_maximum_or_nonsense() {
        let volume = VolumeId(Uuid::nil());
        let read = |size| NewSize::from_request(volume, size);
        assert_eq!(read(0), Ok(NewSize::Maximum));
        assert_eq!(read(5), Ok(NewSize::Bytes(NonZeroU64::new(5).unwrap())));
        let text = read(-1).unwrap_err().to_string();
        assert_eq!(
            text,
            format!("invalid negative size -1 for volume ({volume})")
        );
    }
}
