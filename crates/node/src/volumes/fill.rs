//! Extending a filesystem that is shorter than its partition.

use os::Win32;

use super::resize::{LEAST_OF_WINDOWS, MIB, Resizing};
use super::{FileSystemType, VolumeError, file_system};

/// How much smaller than its partition a complete NTFS may be: less than a cluster, which is at
/// most 2 MiB (<https://learn.microsoft.com/windows-server/storage/file-server/ntfs-overview>), and
/// the last sector, with its second boot sector.
const SLACK: u64 = 4 * MIB;

/// The same for ReFS, which uses whole units of 64 MiB: partitions of 126.98 and 9.98 GiB on Windows Server
/// 2022 had volumes of 126.94 and 9.94 GiB. The unit's length is derived from these two.
const REFS_SLACK: u64 = 64 * MIB;

/// What grew in this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Nothing: the partition was large enough.
    Nothing,
    /// The partition. This process must extend its filesystem.
    Partition,
    /// Both, as the storage provider reported.
    Both,
}

/// Whether a filesystem had to be extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    Needed,
    NotNeeded,
}

impl Resizing<'_> {
    /// Extends the filesystem to its partition, also if an earlier call died between the two.
    ///
    /// Only NTFS and ReFS are extended. If less than [`SLACK`] is missing, NTFS is extended too, but a failure is
    /// ignored. How close ReFS comes to the end of its partition is not documented, so ReFS may fail although
    /// nothing is left to do. That is an error only if this call grew the partition without its filesystem.
    pub(super) fn fill(&self, growth: Growth) -> Result<Filling, VolumeError> {
        let length = self.place.partition.length;
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

    /// Whether growth of the partition never changes the volume's size.
    pub(super) fn keeps_its_size(&self) -> Result<bool, VolumeError> {
        Ok(self.total()?.is_some() && self.extendable()?.is_none())
    }

    /// The size of the filesystem in bytes; `None` if there is none.
    fn total(&self) -> Result<Option<u64>, VolumeError> {
        match self.node.os().volumes.space(self.volume) {
            Ok(space) => Ok(Some(space.total)),
            Err(error) if error.win32() == Some(Win32::UNRECOGNIZED_VOLUME) => Ok(None),
            Err(error) => Err(VolumeError::failed("look at", self.volume)(error)),
        }
    }

    /// The filesystem, if `FSCTL_EXTEND_VOLUME` supports it. The control code fails on FAT32 and exFAT, which
    /// always fall short of their partitions by the length of their tables.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume>
    fn extendable(&self) -> Result<Option<FileSystemType>, VolumeError> {
        let found = file_system(self.node.os(), self.volume)?;
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
