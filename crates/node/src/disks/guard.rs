//! Disks that are never written.

use formats::gpt::types;
use os::{Deadline, DiskNumber, DriveLayout, PartitionEntry, Win32};

use super::DiskError;
use super::paging::{self, PagingUnknown};
use crate::bounded::race;
use crate::in_flight::{ANSWER_WITHIN, Object};
use crate::{DiskGuard, Node, ProviderError, storage};

/// The failover cluster service; a node without that feature does not have it.
const CLUSTER_SERVICE: &str = "ClusSvc";

/// What a change of a disk can reach. It decides whether the change goes on while the disks of page files and
/// crash dumps are unknown. All other guards of a disk refuse both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeScope {
    /// Only bytes that are proved blank before they are overwritten, or no content at all: bringing a disk online.
    Blank,
    /// Files on the disk: taking it offline, growing a partition, wiping a filesystem.
    Files,
}

/// Why a disk is never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Guarded {
    /// It holds the boot volume.
    #[error("it holds the boot volume")]
    Boot,
    /// A cluster owns it.
    #[error("a cluster owns it")]
    Clustered,
    /// A crash dump would go there.
    #[error("crash dumps go there")]
    CrashDump,
    /// It is a dynamic disk.
    #[error("it is a dynamic disk")]
    Dynamic,
    /// It holds a page file.
    #[error("it holds a page file")]
    PageFile,
    /// It is a member of a storage pool.
    #[error("it is a member of a storage pool")]
    Pooled,
    /// It holds the system volume.
    #[error("it holds the system volume")]
    System,
}

/// Refuses a disk that is never written. To be called under its lock.
///
/// # Errors
/// The disk is never written, or its guards cannot be read. Unknown page files and crash dumps refuse a change
/// that reaches files, unless [`DiskGuard::Warn`] lets it go on.
pub(crate) fn refuse(
    node: &Node,
    disk: &storage::Disk,
    layout: &DriveLayout,
    scope: ChangeScope,
    deadline: Deadline,
) -> Result<(), DiskError> {
    let number = disk.number;
    if let Some(reason) = reason(disk, layout)? {
        let disk = number;
        return Err(DiskError::Guarded { disk, reason });
    }
    let learned = paging::learn(node, deadline)?;
    match (learned.on(number), learned.unknown) {
        (Some(reason), _) => Err(DiskError::Guarded {
            disk: number,
            reason,
        }),
        (None, Some(unknown)) => go_on_unknown(node, number, scope, unknown),
        (None, None) => Ok(()),
    }
}

/// Why a disk is no candidate of a search: it is never written.
///
/// # Errors
/// As [`refuse`], for a change of blank bytes; the kernel does not report the layout.
pub(super) fn of_candidate(
    node: &Node,
    disk: &storage::Disk,
    deadline: Deadline,
) -> Result<Option<Guarded>, DiskError> {
    let layout = node.disk_layout(disk.number)?;
    match refuse(node, disk, &layout, ChangeScope::Blank, deadline) {
        Err(DiskError::Guarded { reason, .. }) => Ok(Some(reason)),
        other => other.map(|()| None),
    }
}

/// Refuses a disk that is online read-only, or whose device refuses writes. Windows would refuse too, but its codes
/// are known for few methods; and `Initialize` makes a read-only disk writable.
pub(crate) fn refuse_read_only(node: &Node, disk: DiskNumber) -> Result<(), DiskError> {
    let attributes = node.disk_attributes(disk)?;
    match (attributes.read_only, attributes.offline) {
        (_, true) => Ok(()),
        (true, false) => Err(DiskError::ReadOnly { disk }),
        (false, false) => refuse_protected(disk, node.os().disks.is_write_protected(disk)),
    }
}

/// A device that does not report write protection is written: a controller that refuses MODE SENSE
/// may well take writes (<https://github.com/kubernetes-csi/csi-proxy/issues/437>).
fn refuse_protected(disk: DiskNumber, protected: os::Result<bool>) -> Result<(), DiskError> {
    match protected {
        Ok(true) => Err(DiskError::WriteProtected { disk }),
        Ok(false) => Ok(()),
        Err(error) => {
            tracing::debug!(disk = disk.0, %error, "a device does not say whether it is write-protected");
            Ok(())
        }
    }
}

fn go_on_unknown(
    node: &Node,
    disk: DiskNumber,
    scope: ChangeScope,
    unknown: PagingUnknown,
) -> Result<(), DiskError> {
    match (scope, node.options().disk_guard) {
        (ChangeScope::Blank, _) => {
            tracing::debug!(disk = disk.0, error = %unknown, "page files and crash dumps are unknown");
            Ok(())
        }
        (ChangeScope::Files, DiskGuard::Warn) => {
            tracing::warn!(
                disk = disk.0,
                error = %unknown,
                "a disk is changed that may hold a page file or a crash dump"
            );
            Ok(())
        }
        (ChangeScope::Files, DiskGuard::Refuse) => Err(DiskError::Paging {
            disk,
            source: Box::new(unknown),
        }),
    }
}

/// Why the disk is never written, by its own properties: page files and crash dumps are not looked
/// for.
pub(super) fn reason(
    disk: &storage::Disk,
    layout: &DriveLayout,
) -> Result<Option<Guarded>, ProviderError> {
    Ok(by_marks(disk)?.or_else(|| by_partition_types(layout)))
}

/// The guard by the storage provider's properties of the disk.
pub(super) fn by_marks(disk: &storage::Disk) -> Result<Option<Guarded>, ProviderError> {
    let marks = disk.marks.clone()?;
    let marks = [
        (marks.is_boot, Guarded::Boot),
        (marks.is_system, Guarded::System),
        (marks.is_clustered, Guarded::Clustered),
    ];
    let mut set = marks.into_iter().filter(|(set, _)| *set);
    Ok(set.next().map(|(_, reason)| reason))
}

/// Unless the cluster service is known to be missing, a disk may belong to another node, or may soon. The caller may hold
/// the lock of a disk, so that the question runs on a thread that may be left behind.
pub(super) fn may_be_clustered(node: &Node, deadline: Deadline) -> bool {
    let clock = &*node.os().clock;
    let limit = deadline.min(Deadline::within(clock, ANSWER_WITHIN));
    let owned = node.clone();
    let ask = move || {
        let query = || owned.os().services.query(CLUSTER_SERVICE);
        owned.in_flight().at(&Object::ClusterService, query)
    };
    let answer = race(clock, "look at", limit, ask);
    let code = answer.ok().and_then(|service| service.err()?.win32());
    code != Some(Win32::NO_SUCH_SERVICE)
}

fn by_partition_types(layout: &DriveLayout) -> Option<Guarded> {
    layout
        .partitions
        .iter()
        .find_map(|partition| match (partition.kind, partition.mbr_type) {
            (types::STORAGE_SPACES | types::STORAGE_SPACES_DATA, _)
            | (_, Some(PartitionEntry::MBR_SPACES | PartitionEntry::MBR_SPACES_DATA)) => {
                Some(Guarded::Pooled)
            }
            (types::LDM_DATA | types::LDM_METADATA, _) | (_, Some(PartitionEntry::MBR_DYNAMIC)) => {
                Some(Guarded::Dynamic)
            }
            _ => None,
        })
}
