//! What a disk holds, read before its state changes.
//!
//! Bringing a disk online changes it: its attributes, the signature of a clone, and what Windows mounts. So what would
//! be refused in the end is refused here, by the kernel's table and by the proofs that come again right before each
//! overwriting act. Only Windows can answer the rest, once the disk is online:
//! - what it mounts where the wanted filesystem has left a mark, or BitLocker;
//! - which of several partitions of other systems has a volume;
//! - a table of partitions that the kernel does not report, as it may not of an offline disk;
//! - what is on a disk that cannot be read here.

use formats::blank::{self, Refusal};
use os::{Deadline, DiskAttributes, DiskNumber, PartitionEntry, PartitionStyle};

use super::partition::is_reserved;
use super::{DiskError, FoundDisk, Named};
use crate::blank::{BlankError, DiskRange, kind_of};
use crate::locks::Key;
use crate::volumes::{FileSystemType, VolumeError, may_have, on_disk};
use crate::{Disks, FormatGuard, Node};

#[allow(missing_docs, reason = "documented in `api::Disks`")]
impl Disks<'_> {
    pub fn check_content(
        &self,
        disk: &FoundDisk,
        wanted: Option<FileSystemType>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        let (node, number) = (self.node, disk.number());
        let _held = node.lock("look at disk", [Key::Disk(number)], deadline)?;
        let as_wanted = DiskAttributes {
            offline: false,
            read_only: wanted.is_none(),
        };
        let is_off = node.options().format_guard == FormatGuard::Off;
        if is_off || node.disk_attributes(number)? == as_wanted {
            return Ok(());
        }
        let look = Look {
            node,
            disk: number,
            deadline,
        };
        if look.check(wanted).is_ok() {
            return Ok(());
        }
        // Another node may have written the table since the kernel read it.
        let updated = node.os().disks.update_properties(number);
        updated.map_err(DiskError::kernel(number))?;
        let checked = look.check(wanted);
        Named::from(disk).require(node, deadline)?;
        checked
    }
}

/// One look at a disk, under its lock.
struct Look<'a> {
    node: &'a Node,
    disk: DiskNumber,
    deadline: Deadline,
}

impl Look<'_> {
    fn check(&self, wanted: Option<FileSystemType>) -> Result<(), DiskError> {
        let layout = self.node.disk_layout(self.disk)?;
        if layout.partitions.iter().all(is_reserved) {
            return self.check_whole(layout.style, wanted);
        }
        let holders = on_disk::holders(self.disk, &layout).map_err(Box::new)?;
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let checks = holders.into_iter();
        let checks = checks.map(|one| self.check_partition(one, wanted));
        // Of several, each may be the one with a volume.
        checks.reduce(Result::or).unwrap_or(Ok(()))
    }

    /// A disk without partitions, as far as the kernel reports.
    fn check_whole(
        &self,
        style: PartitionStyle,
        wanted: Option<FileSystemType>,
    ) -> Result<(), DiskError> {
        let whole = self.range(0, self.node.disk_length(self.disk)?);
        let rule = match style {
            PartitionStyle::Raw => blank::for_initialise,
            _ => blank::for_create_partition,
        };
        let is_blank = whole.check_blank(self.node, rule, self.deadline);
        match is_blank {
            Err(BlankError::NotBlank { refusal, .. }) if may_have_volume(&refusal, wanted) => {
                Ok(())
            }
            Ok(_) | Err(BlankError::NotBlank { .. }) if wanted.is_none() => {
                Err(Box::new(VolumeError::none_on(self.disk)).into())
            }
            checked => decided(checked.map(drop)),
        }
    }

    fn check_partition(
        &self,
        partition: &PartitionEntry,
        wanted: FileSystemType,
    ) -> Result<(), DiskError> {
        let range = self.range(partition.offset, partition.length);
        let (node, deadline) = (self.node, self.deadline);
        let may_have = |found| may_have(node, &range, found, wanted, deadline).unwrap_or(true);
        decided(match range.check_blank(node, blank::for_format, deadline) {
            Ok(_) => range.check_own(node, kind_of(partition)),
            Err(BlankError::NotBlank { refusal, .. }) if may_have(&refusal) => Ok(()),
            refused => refused.map(drop),
        })
    }

    fn range(&self, offset: u64, length: u64) -> DiskRange {
        DiskRange {
            disk: self.disk,
            offset,
            length,
        }
    }
}

/// Whether Windows may find a volume there, once the disk is online: by a table, or for readers without one.
fn may_have_volume(found: &Refusal, wanted: Option<FileSystemType>) -> bool {
    use blank::Signature::{BitLocker, Gpt, Mbr, Ntfs, ProtectiveMbr, ReFs};
    let is_known = |it: &blank::Found| match it.signature {
        Gpt | Mbr | ProtectiveMbr => true,
        BitLocker | Ntfs | ReFs => wanted.is_none(),
        _ => false,
    };
    match found {
        Refusal::Signatures(found) => found.iter().any(is_known),
        Refusal::Unknown { .. } => false,
        _ => true,
    }
}

/// A failed read shows nothing, and the proofs that follow will meet it again.
fn decided(checked: Result<(), BlankError>) -> Result<(), DiskError> {
    match checked {
        Err(error @ BlankError::Unread { .. }) => {
            tracing::info!(%error, "what an offline disk holds is not known");
            Ok(())
        }
        checked => Ok(checked?),
    }
}
