//! A disk that the storage provider leaves out: a read-only clone beside its original.
//!
//! diskpart lists such a disk, but `MSFT_Disk` does not until its read-only attribute is cleared past the provider
//! (<https://github.com/kubernetes-csi/csi-proxy/issues/287>, seen on vSphere). The provider also hides disks of a
//! cluster, members of pools and dynamic disks, and these must stay untouched. So the attribute of a disk is cleared
//! only if
//! - the query has an identifier of page 0x83 that no other disk of the node has,
//! - no property that the kernel reports contradicts the query,
//! - the disk is offline and read-only,
//! - its partition table has data partitions, and no others except Windows's reserved ones,
//! - the node has no cluster service.
//!
//! Then the provider refreshes. A disk that it lists afterwards is like any other: the same rules find it, and the
//! guard checks it once more before it comes online. No report says whether Windows hides MBR disks for the same
//! reason.

use formats::gpt::types;
use formats::partition_kind::PartitionKind;
use os::{DiskAccess, DiskAttributes, DiskNumber, DriveLayout};

use super::query::DiskQuery;
use super::seen::{Excluded, NotIdentified, SeenDisk};
use crate::blank::kind_of;
use crate::disks::identity::serial;
use crate::disks::{guard, lists};
use crate::locks::Key;
use crate::{DiskError, Guarded, Node, in_flight, storage};

/// The operation's name in errors.
const FIND: &str = "find disk";

const DOWN: DiskAttributes = DiskAttributes {
    offline: true,
    read_only: true,
};

/// Makes the provider list the wanted disk, if the provider hides it as a read-only clone. Returns whether the
/// provider may list it now.
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
    let _held = node.lock(FIND, [Key::Disk(disk)], deadline)?;
    let cleared = clear(node, disk, &none.wanted, deadline);
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

/// Whether the query has a name that no listed disk has, or may have.
fn may_be_hidden(none: &NotIdentified) -> bool {
    let wanted = &none.wanted;
    let may_have_it = |disk: &SeenDisk| match &disk.excluded {
        Some(Excluded::Silent(_)) if !disk.has_names() => true,
        Some(Excluded::Guarded(Guarded::Clustered)) => true,
        _ => wanted.is_named_by(disk),
    };
    wanted.asks_for_page83() && !none.disks.iter().any(may_have_it)
}

/// The one disk of this name that the kernel lists and the provider does not; `None` if one of these disks does
/// not report its names.
fn sole_unlisted(
    node: &Node,
    none: &NotIdentified,
    deadline: os::Deadline,
) -> Result<Option<DiskNumber>, DiskError> {
    let mut unlisted = node.os().disks.list().map_err(crate::ProviderError::from)?;
    unlisted.retain(|number| none.disks.iter().all(|listed| listed.number != *number));
    let wanted = none.wanted.clone();
    let asked = in_flight::each(node, FIND, deadline, unlisted, move |node, number| {
        let disk = SeenDisk::numbered(*number).named(&lists::page(node, *number)?);
        Ok::<_, os::Error>(wanted.is_named_by(&disk).then_some(*number))
    })?;
    let named: os::Result<Vec<_>> = asked.into_iter().filter_map(Result::transpose).collect();
    Ok(match named.as_deref() {
        Ok([one]) => Some(*one),
        _ => None,
    })
}

/// Clears the attribute, under the disk's lock, if the disk still proves to be such a clone.
fn clear(
    node: &Node,
    disk: DiskNumber,
    wanted: &DiskQuery,
    deadline: os::Deadline,
) -> os::Result<bool> {
    if !is_hidden_clone(node, disk, wanted)? || guard::may_be_clustered(node, deadline) {
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
        serial: serial::known(descriptor.serial.as_deref()),
        size: Some(disks.length(disk)?),
        ..SeenDisk::numbered(disk).named(&lists::page(node, disk)?)
    };
    Ok(wanted.is_named_by(&seen)
        && !wanted.contradicts(&seen)
        && disks.attributes(disk)? == DOWN
        && holds_data_alone(&disks.layout(disk)?))
}

/// Dynamic disks and pools have other partition types, and so will later kinds.
fn holds_data_alone(layout: &DriveLayout) -> bool {
    let reserved = PartitionKind::Gpt(types::MICROSOFT_RESERVED);
    let kinds = || layout.partitions.iter().map(kind_of);
    kinds().any(PartitionKind::is_windows_data)
        && kinds().all(|kind| kind.is_windows_data() || kind == reserved)
}
