//! Finding the volume that a driver means.
//!
//! A disk number leads to the volumes of any disk that has it, and anybody can write a label. So a driver's
//! volume needs more evidence: it is on a disk that a query found, or it is mounted at a path of the driver's
//! own. Every format, mount or resize checks the evidence once more, under its locks.

use os::{Deadline, DiskNumber, VolumeId, WinPath};

use super::{VolumeError, target, writable};
use crate::locks::{Key, LockGuard};
use crate::{FoundDisk, Named, Node, ResolvedPath};

/// A volume, and the evidence that it is the wanted one. Drivers can format, mount or resize a volume only
/// through this.
///
/// Every change checks both again under its locks, right before, and fails if the evidence no longer holds.
/// So making one vouches for nothing.
///
/// To resize, the id might seem enough, as it means only one volume
/// (<https://learn.microsoft.com/windows/win32/fileio/naming-a-volume>). But it does not show how the caller
/// found it, and the shortest way is to list the volumes of a disk number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundVolume {
    id: VolumeId,
    evidence: Evidence,
}

/// The evidence for a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It is on this disk. A disk that was found by its size, and has grown since, no longer
    /// matches.
    Disk(Box<FoundDisk>),
    /// It is mounted where this path leads by links.
    Path(WinPath),
}

impl FoundVolume {
    /// A volume on a found disk.
    #[must_use]
    pub fn on_disk(id: VolumeId, disk: FoundDisk) -> Self {
        let evidence = Evidence::Disk(Box::new(disk));
        Self { id, evidence }
    }

    /// A volume that is mounted where a path leads by links.
    #[must_use]
    pub fn mounted_at(id: VolumeId, path: WinPath) -> Self {
        let evidence = Evidence::Path(path);
        Self { id, evidence }
    }

    /// The volume's id.
    #[must_use]
    pub fn id(&self) -> VolumeId {
        self.id
    }

    /// The evidence for the volume.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}

/// How the caller named the volume that is to be changed.
#[derive(Clone, Copy, Debug)]
pub enum NamedVolume<'a> {
    /// By a search result, which is proved again right before the change.
    Found(&'a FoundVolume),
    /// Only by its id, as csi-proxy's clients do.
    Id(VolumeId),
}

impl NamedVolume<'_> {
    pub(super) fn id(&self) -> VolumeId {
        match self {
            Self::Found(volume) => volume.id,
            Self::Id(id) => *id,
        }
    }

    /// The disk of this number, which has the volume, by how the volume was found.
    ///
    /// # Errors
    /// It was found on another disk, or is not mounted at the path of its evidence.
    pub(super) fn disk(&self, node: &Node, number: DiskNumber) -> Result<Named<'_>, VolumeError> {
        match self {
            Self::Found(volume) => match &volume.evidence {
                Evidence::Disk(found) if found.number() == number => Ok(Named::from(&**found)),
                Evidence::Disk(found) => Err(VolumeError::OnAnotherDisk {
                    volume: volume.id,
                    found: found.number(),
                    disk: number,
                }),
                Evidence::Path(path) => {
                    require_at(node, volume.id, path)?;
                    Ok(Named::Number(number))
                }
            },
            Self::Id(_) => Ok(Named::Number(number)),
        }
    }

    /// Fails if the volume is not the one that was found. It locks the disk of the evidence, too.
    pub(super) fn require_where_it_is(
        &self,
        node: &Node,
        held: &mut LockGuard,
        deadline: Deadline,
    ) -> Result<(), VolumeError> {
        match self {
            Self::Found(volume) => match &volume.evidence {
                Evidence::Disk(_) => {
                    let disk = writable::disk_of(node.os(), volume.id)?;
                    held.add(Key::Disk(disk), deadline)?;
                    Ok(self.disk(node, disk)?.require(node, deadline)?)
                }
                Evidence::Path(path) => require_at(node, volume.id, path),
            },
            Self::Id(_) => Ok(()),
        }
    }
}

/// An unmount through this library takes the volume's lock.
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
