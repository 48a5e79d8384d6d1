//! The disk of the volume that is mounted at a path.

use os::{Deadline, DiskNumber, VolumeId, WinPath};

use super::{DiskQuery, FoundDisk, observe};
use crate::volumes::{disk_of, target};
use crate::{DiskError, Node, ResolvedPath, VolumeError};

/// The disk behind a mounted folder, by all the properties that it reports.
pub(in crate::disks) fn find(
    node: &Node,
    path: &WinPath,
    deadline: Deadline,
) -> Result<FoundDisk, DiskError> {
    let (volume, disk) = behind(node, path)?;
    let seen = observe::observe_one(node, disk, deadline)?;
    let wanted = DiskQuery::of(&seen).map_err(|source| DiskError::Untold { disk, source })?;
    let found = observe::find(node, &wanted, deadline)?;
    match found.number() == disk && behind(node, path)? == (volume, disk) {
        true => Ok(found),
        false => Err(DiskError::NotTheFound {
            found: Box::new(found),
            now: Box::new(seen),
        }),
    }
}

fn behind(node: &Node, path: &WinPath) -> Result<(VolumeId, DiskNumber), DiskError> {
    let volume = target::mounted(node.os(), &ResolvedPath::from(path));
    let volume = volume.map_err(|error| Box::new(VolumeError::from(error)))?;
    let disk = disk_of(node.os(), volume).map_err(Box::new)?;
    Ok((volume, disk))
}
