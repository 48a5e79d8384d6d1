//! Disks that are never written.

use std::fmt;

use formats::gpt::types;
use os::{Deadline, DiskNumber, DriveLayout, WinPath};

use super::DiskError;
use crate::bounded::race;
use crate::looks::{ANSWER_WITHIN, Object};
use crate::storage::{self, Style};
use crate::volumes::{self, target};
use crate::{Node, TargetError, Unfinished, Way};

/// The MBR type of a dynamic disk's partition, 0x42
/// (<https://learn.microsoft.com/windows/win32/fileio/disk-partition-types>).
const MBR_LDM: u32 = 0x42;

const LOOK: &str = "look at";

/// Why it is not known which disks hold page files and the crash dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingUnknown {
    /// The system did not say where they are, or on which disks their volume is.
    #[error(transparent)]
    Os(#[from] os::Error),
    /// The volume on which one is was not found.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The look at them has not ended.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

/// Why a disk is never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guarded {
    /// It holds the boot volume.
    Boot,
    /// A cluster owns it.
    Clustered,
    /// A crash dump would go there.
    CrashDump,
    /// It is a dynamic disk.
    Dynamic,
    /// It holds a page file.
    PageFile,
    /// It is a member of a storage pool.
    Pooled,
    /// It holds the system volume.
    System,
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boot => "it holds the boot volume",
            Self::Clustered => "a cluster owns it",
            Self::CrashDump => "crash dumps go there",
            Self::Dynamic => "it is a dynamic disk",
            Self::PageFile => "it holds a page file",
            Self::Pooled => "it is a member of a storage pool",
            Self::System => "it holds the system volume",
        })
    }
}

/// Refuses a disk that is never written. To be called under its lock.
///
/// # Errors
/// It is such a disk, or that is not known.
pub(crate) fn refuse(
    node: &Node,
    disk: &storage::Disk,
    layout: &DriveLayout,
    deadline: Deadline,
) -> Result<(), DiskError> {
    match reason(node, disk, layout, deadline)? {
        None => Ok(()),
        Some(reason) => Err(DiskError::Guarded {
            disk: disk.number,
            reason,
        }),
    }
}

fn reason(
    node: &Node,
    disk: &storage::Disk,
    layout: &DriveLayout,
    deadline: Deadline,
) -> Result<Option<Guarded>, DiskError> {
    let known = by_flags(disk).or_else(|| by_partition_types(layout));
    if known.is_some() {
        return Ok(known);
    }
    if disk.style == Style::Mbr && is_dynamic_mbr(node, disk.number, deadline)? {
        return Ok(Some(Guarded::Dynamic));
    }
    by_paging(node, disk.number, deadline)
}

/// By what the storage provider says of the disk itself.
pub(super) fn by_flags(disk: &storage::Disk) -> Option<Guarded> {
    let flags = [
        (disk.is_boot, Guarded::Boot),
        (disk.is_system, Guarded::System),
        (disk.is_clustered, Guarded::Clustered),
    ];
    flags
        .into_iter()
        .find(|(set, _)| *set)
        .map(|(_, reason)| reason)
}

fn by_partition_types(layout: &DriveLayout) -> Option<Guarded> {
    layout
        .partitions
        .iter()
        .find_map(|partition| match partition.kind {
            types::STORAGE_SPACES => Some(Guarded::Pooled),
            types::LDM_DATA | types::LDM_METADATA => Some(Guarded::Dynamic),
            _ => None,
        })
}

fn is_dynamic_mbr(node: &Node, disk: DiskNumber, deadline: Deadline) -> Result<bool, DiskError> {
    let partitions = storage::Partition::list(node, disk, deadline)?;
    Ok(partitions
        .iter()
        .any(|partition| partition.mbr_type == Some(MBR_LDM)))
}

/// The page files are on volumes of other disks, which may hang; and whoever asks holds this disk's lock. So
/// they are looked for on a thread that is left behind then, one at a time.
fn by_paging(
    node: &Node,
    disk: DiskNumber,
    deadline: Deadline,
) -> Result<Option<Guarded>, DiskError> {
    let clock = &*node.os().clock;
    let limit = deadline.min(Deadline::within(clock, ANSWER_WITHIN));
    let owned = node.clone();
    let look = move || {
        let looks = owned.looks();
        looks.at(&Object::PageFiles, || paging_on(&owned, disk))
    };
    let found = match race(clock, LOOK, limit, look) {
        Ok(found) => found,
        Err(Unfinished::Deadline { .. }) => {
            let ended = node.check(deadline, LOOK, &Object::PageFiles);
            let silent = || Unfinished::not_answering(LOOK, &Object::PageFiles);
            Err(ended.err().unwrap_or_else(silent).into())
        }
        Err(unfinished) => Err(unfinished.into()),
    };
    found.map_err(|error| DiskError::Paging {
        disk,
        source: Box::new(error),
    })
}

fn paging_on(node: &Node, disk: DiskNumber) -> Result<Option<Guarded>, PagingUnknown> {
    let paging = node.os().boot.paging()?;
    let page_files = paging
        .page_files
        .iter()
        .map(|path| (path, Guarded::PageFile));
    let crash_dump = paging
        .crash_dump
        .iter()
        .map(|path| (path, Guarded::CrashDump));
    for (path, reason) in page_files.chain(crash_dump) {
        if holds(node, disk, path)? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// Whether the file is on this disk. A drive that does not exist is on none.
fn holds(node: &Node, disk: DiskNumber, file: &WinPath) -> Result<bool, PagingUnknown> {
    let folder = file.parent().unwrap_or_else(|| file.clone());
    let above = target::Missing::LookAbove;
    let volume = match target::closest(node.os(), &Way::from(&folder), above) {
        Ok(volume) => volume,
        Err(error) if error.is_missing() => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    Ok(volumes::disks_of(node.os(), volume)?.contains(&disk))
}
