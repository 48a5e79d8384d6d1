//! A disk that the storage provider leaves out: a read-only clone beside its original.
//!
//! diskpart lists such a disk, and `MSFT_Disk` does not until its read-only attribute is cleared past the provider
//! (<https://github.com/kubernetes-csi/csi-proxy/issues/287>, seen on vSphere). Disks of a cluster, members of pools
//! and dynamic disks are left out as well, and none of these may be touched. So the attribute is cleared of a disk
//! only if
//! - it is asked for by an identifier of page 0x83 which no other disk of the node has,
//! - nothing that the kernel tells of it is otherwise than asked for,
//! - it is offline and read-only,
//! - its partition table has data, and nothing beside but what Windows reserves,
//! - the node has no cluster service.
//!
//! Then the provider looks anew. What it lists after is a disk like any other: it is found by the same rules, and
//! guarded once more before it comes online. Whether Windows leaves out MBR disks for the same reason nobody reports.

use formats::gpt::types;
use formats::partition_kind::PartitionKind;
use os::{DiskAccess, DiskAttributes, DiskNumber, DriveLayout, Win32};

use super::query::DiskQuery;
use super::seen::{Excluded, NotIdentified, SeenDisk};
use crate::blank::kind_of;
use crate::disks::identity::serial;
use crate::disks::lists;
use crate::locks::Key;
use crate::{DiskError, Guarded, Node, in_flight, storage};

/// What it is called in errors.
const FIND: &str = "find disk";

/// The service of failover clusters, which a node without that feature does not have.
const CLUSTER_SERVICE: &str = "ClusSvc";

const DOWN: DiskAttributes = DiskAttributes {
    offline: true,
    read_only: true,
};

/// Has the provider list the disk that is wanted, if that is one which it leaves out for being a read-only clone.
/// Whether it may list it now.
///
/// # Errors
/// The kernel does not list its disks; the disk is locked beyond the deadline; the provider refuses to look anew.
pub(super) fn reveal(
    node: &Node,
    none: &NotIdentified,
    deadline: os::Deadline,
) -> Result<bool, DiskError> {
    if !may_be_hidden(none) {
        return Ok(false);
    }
    let Some(disk) = sole_unlisted(node, none, deadline)? else {
        return Ok(false);
    };
    let _held = node.locks().take(FIND, vec![Key::Disk(disk)], deadline)?;
    let cleared = clear(node, disk, &none.wanted);
    match cleared {
        Ok(false) => return Ok(false),
        Ok(true) => {}
        Err(error) => {
            tracing::warn!(disk = disk.0, %error, "a disk stays hidden");
            return Ok(false);
        }
    }
    storage::rescan(node)?;
    Ok(true)
}

/// Whether the wanted disk has a name that none of the listed ones has, or may have.
fn may_be_hidden(none: &NotIdentified) -> bool {
    let wanted = &none.wanted;
    let may_have_it = |disk: &SeenDisk| match &disk.excluded {
        Some(Excluded::Silent(_)) if disk.identifiers.is_empty() => true,
        Some(Excluded::Guarded(Guarded::Clustered)) => true,
        _ => wanted.is_named_by(&disk.identifiers),
    };
    wanted.asks_for_page83() && !none.disks.iter().any(may_have_it)
}

/// The one disk of this name among those that the kernel has and the provider does not; none where one of these
/// does not tell its names.
fn sole_unlisted(
    node: &Node,
    none: &NotIdentified,
    deadline: os::Deadline,
) -> Result<Option<DiskNumber>, DiskError> {
    let mut unlisted = node.os().disks.list().map_err(crate::ProviderError::from)?;
    unlisted.retain(|number| none.disks.iter().all(|listed| listed.number != *number));
    let wanted = none.wanted.clone();
    let asked = in_flight::each(node, FIND, deadline, unlisted, move |node, number| {
        let page = lists::page(node, *number)?;
        Ok::<_, os::Error>(wanted.is_named_by(&page.texts()).then_some(*number))
    })?;
    let named: os::Result<Vec<_>> = asked.into_iter().filter_map(Result::transpose).collect();
    Ok(match named.as_deref() {
        Ok([one]) => Some(*one),
        _ => None,
    })
}

/// Clears the attribute, under the disk's lock, of what proves to be such a clone now.
fn clear(node: &Node, disk: DiskNumber, wanted: &DiskQuery) -> os::Result<bool> {
    if !is_hidden_clone(node, disk, wanted)? || may_be_clustered(node) {
        return Ok(false);
    }
    tracing::warn!(disk = disk.0, %wanted, "making a disk writable that the storage provider does not list");
    // By its number, which could have gone to another disk since the check: that one would be writable then, and nothing
    // is written to it.
    let until_restart = DiskAccess::ReadWriteUntilRestart;
    node.os().disks.set_access(disk, until_restart)?;
    Ok(true)
}

fn is_hidden_clone(node: &Node, disk: DiskNumber, wanted: &DiskQuery) -> os::Result<bool> {
    let disks = &node.os().disks;
    let descriptor = disks.descriptor(disk)?;
    let seen = SeenDisk {
        identifiers: lists::page(node, disk)?.texts(),
        serial: serial::known(descriptor.serial.as_deref()),
        size: Some(disks.length(disk)?),
        ..SeenDisk::numbered(disk)
    };
    Ok(wanted.is_named_by(&seen.identifiers)
        && !wanted.contradicts(&seen)
        && disks.attributes(disk)? == DOWN
        && holds_data_alone(&disks.layout(disk)?))
}

/// Partitions of dynamic disks, of pools and of whatever comes after them are of other types.
fn holds_data_alone(layout: &DriveLayout) -> bool {
    let reserved = PartitionKind::Gpt(types::MICROSOFT_RESERVED);
    let kinds = || layout.partitions.iter().map(kind_of);
    kinds().any(PartitionKind::is_windows_data)
        && kinds().all(|kind| kind.is_windows_data() || kind == reserved)
}

/// Where the cluster service is not known to be missing, a disk may be another node's.
fn may_be_clustered(node: &Node) -> bool {
    let service = node.os().services.query(CLUSTER_SERVICE);
    service.err().and_then(|error| error.win32()) != Some(Win32::NO_SUCH_SERVICE)
}
