//! Queries about a found disk, or a volume's disk: a driver names no disk by its number.
//!
//! Each queries the number that the disk had when it was found, without a check that the disk still has it.
//! Operations that change a disk do check, so a driver may act on an answer only by such a call.

use std::fmt;

use os::{Deadline, DiskNumber, VolumeId};

use super::{Condition, NodeApi, Result, ResultExt as _};
use crate::FoundDisk;

impl FoundDisk {
    /// Whether the disk is online.
    ///
    /// # Errors
    /// As [`Disks::is_online`](super::Disks::is_online).
    pub fn is_online(&self, node: &dyn NodeApi, deadline: Deadline) -> Result<bool> {
        node.disks().is_online(self.number(), deadline)
    }

    /// Whether the disk has the read-only attribute.
    ///
    /// # Errors
    /// As [`Disks::is_read_only`](super::Disks::is_read_only).
    pub fn is_read_only(&self, node: &dyn NodeApi, deadline: Deadline) -> Result<bool> {
        node.disks().is_read_only(self.number(), deadline)
    }

    /// Whether the device itself refuses writes.
    ///
    /// # Errors
    /// As [`Disks::is_write_protected`](super::Disks::is_write_protected).
    pub fn is_write_protected(&self, node: &dyn NodeApi, deadline: Deadline) -> Result<bool> {
        node.disks().is_write_protected(self.number(), deadline)
    }

    /// The volumes on the disk, in the order of where they begin; none of a disk that is gone or has no partitions.
    ///
    /// # Errors
    /// As [`Volumes::list_on_disk`](super::Volumes::list_on_disk), but for
    /// [`NotFound`](Condition::NotFound).
    pub fn volumes(&self, node: &dyn NodeApi, deadline: Deadline) -> Result<Vec<VolumeId>> {
        let listed = node.volumes().list_on_disk(self.number(), None, deadline);
        Ok(listed.none_if(Condition::NotFound)?.unwrap_or_default())
    }

    /// Whether a volume is on the disk.
    ///
    /// # Errors
    /// As [`Volumes::disk_number`](super::Volumes::disk_number).
    pub fn holds(&self, volume: VolumeId, node: &dyn NodeApi, deadline: Deadline) -> Result<bool> {
        Ok(node.volumes().disk_number(volume, deadline)? == self.number())
    }
}

/// The length in bytes of the whole disk that a volume is on.
///
/// # Errors
/// As [`Volumes::disk_number`](super::Volumes::disk_number) and [`Disks::size`](super::Disks::size).
pub fn disk_size_of(volume: VolumeId, node: &dyn NodeApi, deadline: Deadline) -> Result<u64> {
    let disk = node.volumes().disk_number(volume, deadline)?;
    node.disks().size(disk, deadline)
}

/// What of a disk refuses writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteRefusal {
    /// Its read-only attribute.
    Attribute(DiskNumber),
    /// Its device.
    Device(DiskNumber),
}

impl fmt::Display for WriteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attribute(disk) => write!(f, "disk {disk} is read-only"),
            Self::Device(disk) => write!(f, "the device of disk {disk} is write-protected"),
        }
    }
}

/// Why the disk that a volume is on refuses writes; `None` of one that takes them.
///
/// # Errors
/// As [`Volumes::disk_number`](super::Volumes::disk_number), [`Disks::is_read_only`](super::Disks::is_read_only) and
/// [`Disks::is_write_protected`](super::Disks::is_write_protected).
pub fn write_refusal_of(
    volume: VolumeId,
    node: &dyn NodeApi,
    deadline: Deadline,
) -> Result<Option<WriteRefusal>> {
    let disk = node.volumes().disk_number(volume, deadline)?;
    if node.disks().is_read_only(disk, deadline)? {
        return Ok(Some(WriteRefusal::Attribute(disk)));
    }
    let is_protected = node.disks().is_write_protected(disk, deadline)?;
    Ok(is_protected.then_some(WriteRefusal::Device(disk)))
}
