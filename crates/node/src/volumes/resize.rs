//! Growing a partition and its filesystem.

use std::num::NonZeroU64;

use os::schema::{codes, partition};
use os::{Arguments, Deadline, PartitionStyle, Value, VolumeId};

use super::fill::{Filling, Growth};
use super::writable::WritableVolume;
use super::{NamedVolume, VolumeError};
use crate::disks::guard::ChangeScope;
use crate::provider::ProviderError;
use crate::{DiskError, Node, storage};

pub(super) const MIB: u64 = 1 << 20;

/// csi-proxy ignores growth below this. Its drivers request the maximum each time that they stage a volume, and
/// Windows's maximum may differ from ours by a few MiB.
pub(super) const LEAST_OF_CSI_PROXY: u64 = 100 * MIB;

/// The storage provider refuses growth below this (`The size of the extent is less than the minimum of 1MB.`:
/// kubernetes-csi/csi-proxy issue 195 and pull request 364).
pub(super) const LEAST_OF_WINDOWS: u64 = MIB;

/// The space that stays free at a disk's end.
const KEPT: u64 = 2 * MIB;

/// Return codes without a reason; after them the kernel is asked to grow the partition.
const WITHOUT_REASON: [u32; 3] = [
    codes::NOT_SUPPORTED.code,
    codes::UNSPECIFIED_ERROR.code,
    codes::FAILED.code,
];

/// Return codes of a provider that may have an old length of the disk (kubernetes-csi/csi-proxy
/// issue 195 has the first).
const OUT_OF_DATE: [u32; 2] = [
    codes::SIZE_NOT_SUPPORTED.code,
    codes::CACHE_OUT_OF_DATE.code,
];

/// The size that a volume is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewSize {
    /// A number of bytes. A size above what the disk allows, up to the disk's own length, is the same as
    /// [`NewSize::Maximum`] if the volume's partition is the last: Windows keeps the missing part for tables.
    Bytes(NonZeroU64),
    /// As large as the disk allows.
    Maximum,
}

impl NewSize {
    /// Converts the size of a request: bytes, or zero for the maximum.
    ///
    /// # Errors
    /// The size is negative.
    pub fn from_request(volume: VolumeId, size: i64) -> Result<Self, VolumeError> {
        let bytes = u64::try_from(size).map_err(|_| VolumeError::NegativeSize { volume, size })?;
        Ok(NonZeroU64::new(bytes).map_or(Self::Maximum, Self::Bytes))
    }

    /// Rounds down to whole MiB, as partitions are. Less than 1 MiB is no growth anywhere and stays
    /// as it is.
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

/// The result of growing a volume. Sizes are those of its partition, in bytes; the filesystem on it is
/// smaller by the part that NTFS keeps for itself, less than 4 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resized {
    /// The partition was large enough, and its filesystem was extended to it: an earlier call had not finished.
    Filled {
        /// The partition's size.
        size: u64,
    },
    /// Partition and filesystem grew.
    Grown {
        /// The old size.
        from: u64,
        /// The new size.
        to: u64,
    },
    /// Nothing was done: the volume was as large as requested, or larger, or smaller by less than the least growth.
    /// For the maximum, the same holds if the storage provider accepts no more of the disk than that.
    Unchanged {
        /// The size, before and after.
        size: u64,
    },
    /// The volume is as large as requested, except for such a rest, and the node does not report what it
    /// did. A node in this process always does.
    Unreported,
}

/// A target size.
#[derive(Clone, Copy)]
struct Wanted {
    bytes: u64,
    /// Whether that is all of the disk, by our calculation.
    is_maximum: bool,
}

/// One growth.
pub(super) struct Resizing<'a> {
    pub(super) node: &'a Node,
    pub(super) volume: VolumeId,
    pub(super) place: WritableVolume<'a>,
    /// Smaller growth does nothing.
    least: u64,
    pub(super) deadline: Deadline,
}

impl<'a> Resizing<'a> {
    /// Locks the volume; growth by less than `least` will do nothing.
    pub(super) fn take(
        node: &'a Node,
        named: NamedVolume<'a>,
        least: u64,
        deadline: Deadline,
    ) -> Result<Self, VolumeError> {
        let scope = ChangeScope::Files;
        Ok(Self {
            node,
            volume: named.id(),
            place: WritableVolume::take(node, "resize", named, scope, deadline)?,
            least,
            deadline,
        })
    }

    pub(super) fn run(&mut self, size: NewSize) -> Result<Resized, VolumeError> {
        let from = self.place.partition.length;
        let target = self.target(size)?;
        if target.is_some() {
            self.place.refuse_read_only()?;
        }
        if let Some(target) = target
            && let Some(growth) = self.grow_partition(target)?
        {
            self.fill(growth)?;
            let to = self.place.partition.length;
            return Ok(Resized::Grown { from, to });
        }
        let size = self.place.partition.length;
        Ok(match self.fill(Growth::Nothing)? {
            Filling::Needed => Resized::Filled { size },
            Filling::NotNeeded => Resized::Unchanged { size },
        })
    }

    /// The size that the partition must grow to; `None` if it is large enough.
    fn target(&mut self, size: NewSize) -> Result<Option<Wanted>, VolumeError> {
        let size = size.aligned();
        if let NewSize::Bytes(bytes) = size
            && self.is_enough(bytes.get())
        {
            return Ok(None);
        }
        self.see_the_disk_anew(size)?;
        let maximum = self.maximum()?;
        let size = match size {
            NewSize::Bytes(bytes) => bytes.get(),
            NewSize::Maximum => maximum,
        };
        if self.is_enough(size) {
            return Ok(None);
        }
        if size > maximum && !self.is_but_for_the_tables(size)? {
            return Err(VolumeError::TooLarge {
                volume: self.volume,
                size,
                maximum,
            });
        }
        let bytes = size.min(maximum);
        let is_growth = bytes >= self.place.partition.length.saturating_add(LEAST_OF_WINDOWS);
        Ok(is_growth.then_some(Wanted {
            bytes,
            is_maximum: bytes == maximum,
        }))
    }

    /// Whether the volume has all of its disk that Windows allows for data, and the size includes the rest:
    /// after growing a disk to a size, a caller often requests just that size for the volume.
    fn is_but_for_the_tables(&self, size: u64) -> Result<bool, VolumeError> {
        Ok(next(&self.place).is_none() && size <= self.reach_of_table()?)
    }

    /// Windows does not notice a grown disk by itself. Drivers rescan all disks before they resize,
    /// so this rescans only if there is no room.
    fn see_the_disk_anew(&mut self, size: NewSize) -> Result<(), VolumeError> {
        let disk = self.place.disk.number;
        self.node
            .check(self.deadline, "resize volume", &self.volume)?;
        let has_room = match size {
            NewSize::Bytes(bytes) => bytes.get() <= self.maximum()?,
            NewSize::Maximum => false,
        };
        if !has_room {
            storage::rescan(self.node)?;
        }
        let updated = self.node.os().disks.update_properties(disk);
        updated.map_err(DiskError::kernel(disk))?;
        self.place.look_again()
    }

    /// The room from the partition's start to the next one, in whole MiB. Without a next one it ends 2 MiB before the
    /// reach of the table, where a GPT has its second copy; the provider's own largest partition ends there
    /// (dsccommunity/StorageDsc issue 304). `GetSupportedSize` is not used, as it needs the defragmenter
    /// (aws-ebs-csi-driver#2877).
    fn maximum(&self) -> Result<u64, VolumeError> {
        let end_of_disk = self.reach_of_table()?.saturating_sub(KEPT);
        let end = next(&self.place).unwrap_or(end_of_disk);
        let room = end.saturating_sub(self.place.partition.offset);
        Ok(room - room % MIB)
    }

    /// How many bytes of its disk the partition table can address: a master boot record numbers sectors by 32
    /// bits, which is 2 TiB with sectors of 512 bytes (Microsoft's knowledge base, 2581408).
    fn reach_of_table(&self) -> Result<u64, VolumeError> {
        let (disk, disks) = (self.place.disk.number, &self.node.os().disks);
        let length = self.node.disk_length(disk)?;
        match self.place.layout.style {
            PartitionStyle::Mbr { .. } => {
                let sector = disks.sector_size(disk).map_err(DiskError::kernel(disk))?;
                Ok(length.min(u64::from(sector) << 32))
            }
            PartitionStyle::Gpt { .. } | PartitionStyle::Raw => Ok(length),
        }
    }

    /// Returns `None` if the partition is as large as the provider makes it.
    fn grow_partition(&mut self, wanted: Wanted) -> Result<Option<Growth>, VolumeError> {
        let target = wanted.bytes;
        // The kernel knows the disk's length; the provider, which is to grow the partition, may not.
        self.place.disk.refresh(self.node);
        let mut resized = self.grow_by_the_provider(target)?;
        if let Err(error) = &resized
            && is_out_of_date(error)
            && !self.is_enough(target)
        {
            tracing::warn!(volume = %self.volume, %error, "growing a partition again, now that the storage provider has looked at all disks");
            storage::rescan(self.node)?;
            resized = self.grow_by_the_provider(target)?;
        }
        match resized {
            // The provider knows its own change.
            Ok(()) => return Ok(Some(Growth::Both)),
            Err(error) if is_all_there_is(&self.place, wanted, &error) => {
                tracing::warn!(volume = %self.volume, %error, target, "the storage provider gives the partition no more of its disk");
                return Ok(None);
            }
            Err(error) if !self.is_enough(target) => {
                self.grow_by_the_kernel(target, error)?;
            }
            // A method without a return code is judged by the partition; the filesystem is checked next.
            Err(error) => {
                tracing::warn!(volume = %self.volume, %error, "the partition grew, its filesystem perhaps not");
            }
        }
        self.place.disk.refresh(self.node);
        Ok(Some(Growth::Partition))
    }

    /// The provider's result, and the partition after it.
    fn grow_by_the_provider(
        &mut self,
        target: u64,
    ) -> Result<Result<(), ProviderError>, VolumeError> {
        self.node
            .check(self.deadline, "resize volume", &self.volume)?;
        let row = self.place.row()?;
        let size = Value::uint64(target);
        let arguments = Arguments::none().with(partition::resize::SIZE.name, size);
        let resized = row
            .wmi_object(self.node)
            .invoke(&partition::RESIZE, &arguments);
        self.place.look_again()?;
        Ok(resized)
    }

    /// Only after the provider's own attempt has really ended, and only by the bytes that are
    /// missing then: the call is relative.
    fn grow_by_the_kernel(&mut self, target: u64, error: ProviderError) -> Result<(), VolumeError> {
        match &error {
            ProviderError::Refused { code, .. } if WITHOUT_REASON.contains(code) => {}
            _ => return Err(error.into()),
        }
        if self.keeps_its_size()? {
            return Err(error.into());
        }
        tracing::warn!(volume = %self.volume, %error, "growing a partition without the storage provider");
        let disk = self.place.disk.number;
        let by = target - self.place.partition.length;
        let grown = self
            .node
            .os()
            .disks
            .grow_partition(disk, self.place.partition.number, by);
        grown.map_err(DiskError::kernel(disk))?;
        self.place.look_again()
    }

    /// Whether the partition is as long as wanted, or shorter by too little to matter.
    fn is_enough(&self, size: u64) -> bool {
        size < self.place.partition.length.saturating_add(self.least)
    }
}

/// Whether the provider, after a refresh, refuses a rest of the disk that csi-proxy would not request: the end of its
/// largest partition is not documented, and ours may be some MiB behind it.
fn is_all_there_is(place: &WritableVolume<'_>, wanted: Wanted, error: &ProviderError) -> bool {
    let rest = wanted.bytes.saturating_sub(place.partition.length);
    let code = codes::SIZE_NOT_SUPPORTED.code;
    let is_refused = matches!(error, ProviderError::Refused { code: its, .. } if *its == code);
    wanted.is_maximum && is_refused && rest < LEAST_OF_CSI_PROXY
}

/// The start of the partition behind this one.
fn next(place: &WritableVolume<'_>) -> Option<u64> {
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
