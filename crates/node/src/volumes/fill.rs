//! The filesystem of a partition that is longer than it.

use os::Win32;

use super::resize::{LEAST_OF_WINDOWS, Resizing};
use super::writable::WritableVolume;
use super::{FileSystemType, VolumeError};

const MIB: u64 = 1 << 20;

/// What NTFS may be smaller than its partition without being unfinished: less than a
/// cluster, which is at most 2 MiB
/// (<https://learn.microsoft.com/windows-server/storage/file-server/ntfs-overview>), and the last
/// sector, where it keeps its second boot sector.
const SLACK: u64 = 4 * MIB;

/// The same of ReFS, which uses whole stretches of 64 MiB: partitions of 126.98 and 9.98 GiB on Windows Server
/// 2022 had volumes of 126.94 and 9.94 GiB. The length of a stretch is derived from these two.
const REFS_SLACK: u64 = 64 * MIB;

/// What grew in this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Nothing: the partition was large enough.
    Nothing,
    /// The partition. Its filesystem is left to us.
    Partition,
    /// Both, by the storage provider's word.
    Both,
}

/// Whether a filesystem had to be extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    Needed,
    NotNeeded,
}

impl Resizing<'_> {
    /// Lets the filesystem fill its partition, also when an earlier call died between the two.
    ///
    /// Only NTFS and ReFS are extended; NTFS also where less than [`SLACK`] may be missing, but it need not succeed
    /// there. How close ReFS comes to the end of its partition is not documented, so
    /// that it may fail there without anything left to do: that is an error only after this call grew the
    /// partition without its filesystem.
    pub(super) fn fill(
        &self,
        place: &WritableVolume,
        growth: Growth,
    ) -> Result<Filling, VolumeError> {
        let length = place.partition.length;
        let Some(total) = self
            .total()?
            .filter(|total| total.saturating_add(LEAST_OF_WINDOWS) <= length)
        else {
            return Ok(Filling::NotNeeded);
        };
        match self.extendable()? {
            Some(FileSystemType::Ntfs) if total.saturating_add(SLACK) >= length => {
                Ok(self.extend(length).unwrap_or_else(|error| {
                    tracing::debug!(volume = %self.volume, %error, total, length, "NTFS takes no more of its partition");
                    Filling::NotNeeded
                }))
            }
            Some(FileSystemType::Ntfs) => self.extend(length),
            Some(FileSystemType::Refs) if total.saturating_add(REFS_SLACK) < length => {
                self.extend(length).or_else(|error| match growth {
                    Growth::Partition => Err(error),
                    Growth::Nothing | Growth::Both => {
                        tracing::warn!(volume = %self.volume, %error, total, length, "ReFS stays shorter than its partition");
                        Ok(Filling::NotNeeded)
                    }
                })
            }
            _ => Ok(Filling::NotNeeded),
        }
    }

    /// Whether a partition that grows by itself leaves the volume as it was for good.
    pub(super) fn keeps_its_size(&self) -> Result<bool, VolumeError> {
        Ok(self.total()?.is_some() && self.extendable()?.is_none())
    }

    /// The size of the filesystem; `None` when there is none.
    fn total(&self) -> Result<Option<u64>, VolumeError> {
        match self.node.os().volumes.space(self.volume) {
            Ok(space) => Ok(Some(space.total)),
            Err(error) if error.win32() == Some(Win32::UNRECOGNIZED_VOLUME) => Ok(None),
            Err(error) => Err(VolumeError::failed("look at", self.volume)(error)),
        }
    }

    /// The filesystem, if it is one that `FSCTL_EXTEND_VOLUME` is for. It fails on FAT32 and exFAT, which fall
    /// short of their partitions by their tables, for ever.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume>
    fn extendable(&self) -> Result<Option<FileSystemType>, VolumeError> {
        let found = self.node.os().volumes.file_system(self.volume);
        let found = found.map_err(VolumeError::failed("look at", self.volume))?;
        Ok(found.and_then(|found| found.name.parse().ok()))
    }

    fn extend(&self, length: u64) -> Result<Filling, VolumeError> {
        self.node
            .check(self.deadline, "resize volume", &self.volume)?;
        let extended = self.node.os().volumes.extend(self.volume, length);
        extended.map_err(VolumeError::failed("extend", self.volume))?;
        Ok(Filling::Needed)
    }
}
