//! Finding the volume that a driver means.
//!
//! A disk number leads to the volumes of whichever disk has it, and a label is what anybody wrote, so a
//! driver's volume is found by more: it lies on a disk that was found by all that is known of it, or it is
//! mounted at a path of the driver's own. Whatever formats, mounts or resizes it then looks once more, under its
//! locks.

use os::{Deadline, DiskNumber, VolumeId, WinPath};

use super::{VolumeError, target, writable};
use crate::locks::{Key, LockGuard};
use crate::{FoundDisk, Named, Node, ResolvedPath};

/// A volume, and by what it is known to be the one that is meant: the one thing by which drivers have a
/// volume formatted, mounted or resized.
///
/// Whatever changes the volume looks at both again under its locks, right before, and refuses when that does
/// not hold any more. So nothing is vouched for by making one.
///
/// To resize, the id alone might seem enough, as it means one volume only
/// (<https://learn.microsoft.com/windows/win32/fileio/naming-a-volume>). But it does not say how its caller
/// came by it, and the shortest way is to list the volumes of a disk number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundVolume {
    id: VolumeId,
    evidence: Evidence,
}

/// By what a volume is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It lies on this disk. One that was found by its size, and has grown since, is another.
    Disk(Box<FoundDisk>),
    /// It is mounted where this path leads to by links.
    Path(WinPath),
}

impl FoundVolume {
    /// A volume on a disk that was found.
    #[must_use]
    pub fn on_disk(id: VolumeId, disk: FoundDisk) -> Self {
        let evidence = Evidence::Disk(Box::new(disk));
        Self { id, evidence }
    }

    /// A volume that is mounted where a path leads to by links.
    #[must_use]
    pub fn mounted_at(id: VolumeId, path: WinPath) -> Self {
        let evidence = Evidence::Path(path);
        Self { id, evidence }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> VolumeId {
        self.id
    }

    /// By what it is known.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}

/// How the volume that is to be changed was named.
#[derive(Clone, Copy, Debug)]
pub enum NamedVolume<'a> {
    /// By what a look-up found, which is proved again right before the change.
    Found(&'a FoundVolume),
    /// By its id alone, as csi-proxy's clients do.
    Id(VolumeId),
}

impl NamedVolume<'_> {
    pub(super) fn id(&self) -> VolumeId {
        match self {
            Self::Found(volume) => volume.id,
            Self::Id(id) => *id,
        }
    }

    /// Refuses to go on when the volume, which is on this disk, is not the one that was found. To be called
    /// under the locks of both.
    pub(super) fn require(
        &self,
        node: &Node,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<(), VolumeError> {
        match self {
            Self::Found(volume) => match &volume.evidence {
                Evidence::Disk(found) => require_on(node, volume.id, found, disk, deadline),
                Evidence::Path(path) => require_at(node, volume.id, path),
            },
            Self::Id(_) => Ok(()),
        }
    }

    /// [`NamedVolume::require`] where the volume alone is locked: the disk that speaks for it is locked too.
    pub(super) fn require_where_it_is(
        &self,
        node: &Node,
        held: &mut LockGuard,
        deadline: Deadline,
    ) -> Result<(), VolumeError> {
        match self {
            Self::Found(volume) => match &volume.evidence {
                Evidence::Disk(found) => {
                    let disk = writable::disk_of(node.os(), volume.id)?;
                    held.add(Key::Disk(disk), deadline)?;
                    require_on(node, volume.id, found, disk, deadline)
                }
                Evidence::Path(path) => require_at(node, volume.id, path),
            },
            Self::Id(_) => Ok(()),
        }
    }
}

fn require_on(
    node: &Node,
    volume: VolumeId,
    found: &FoundDisk,
    disk: DiskNumber,
    deadline: Deadline,
) -> Result<(), VolumeError> {
    if found.number() != disk {
        return Err(VolumeError::OnAnotherDisk {
            volume,
            found: found.number(),
            disk,
        });
    }
    Ok(Named::from(found).require(node, deadline)?)
}

/// Unmounting it through this library takes the volume's lock.
fn require_at(node: &Node, volume: VolumeId, path: &WinPath) -> Result<(), VolumeError> {
    let mounted = target::mounted(node.os(), &ResolvedPath::from(path))?;
    if mounted == volume {
        return Ok(());
    }
    Err(VolumeError::NotMountedThere {
        volume,
        mounted,
        path: path.to_string(),
    })
}

impl<'a> From<&'a FoundVolume> for NamedVolume<'a> {
    fn from(volume: &'a FoundVolume) -> Self {
        Self::Found(volume)
    }
}

impl From<VolumeId> for NamedVolume<'_> {
    fn from(id: VolumeId) -> Self {
        Self::Id(id)
    }
}
