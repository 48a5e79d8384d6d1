//! Bringing a disk online that nobody may write.
//!
//! Windows mounts what is on a disk as soon as that is online, and writes to it then. So the disk is read-only before,
//! and one that is online and writable goes offline first, which nobody may notice.
//!
//! A writable disk goes offline only if no volume of it has an access path, and after its volumes were flushed, locked and
//! dismounted. While one of them is in use, the call changes nothing.

use os::{Deadline, VolumeId};

use super::offline::{Taken, Volumes};
use super::state::Switching;
use super::{DiskError, FoundDisk, Named, Obstacle};
use crate::{Node, VolumeError};

/// What it is called in errors.
const NAME: &str = "online disk read-only";

/// One call of `bring_online_read_only`.
pub(super) struct BringingReadOnly<'a> {
    volumes: Volumes<'a>,
}

impl<'a> BringingReadOnly<'a> {
    pub(super) fn of(node: &'a Node, found: &'a FoundDisk, deadline: Deadline) -> Self {
        let operation = NAME;
        Self {
            volumes: Volumes {
                node,
                found,
                operation,
                deadline,
            },
        }
    }

    pub(super) fn run(&self) -> Result<(), DiskError> {
        let (_held, volumes) = self.volumes.lock()?;
        let Volumes {
            node,
            found,
            deadline,
            ..
        } = self.volumes;
        let switching = Switching::of(node, Named::from(found), deadline);
        switching.online_read_only(|| self.release(&volumes))
    }

    /// Locks all volumes of a writable disk against other users, if nobody reaches one by a path. Nothing is
    /// changed before all are taken.
    fn release(&self, volumes: &[VolumeId]) -> Result<Vec<Taken>, DiskError> {
        self.refuse_access_paths(volumes)?;
        let taken = self.volumes.take_all(volumes);
        let taken = taken.map_err(|error| match error {
            VolumeError::InUse { volume } => self.in_the_way(volume, Obstacle::OpenFile),
            error => Box::new(error).into(),
        })?;
        // Another process may have given one a path until it was locked.
        self.refuse_access_paths(volumes)?;
        self.volumes.dismount(&taken)?;
        Ok(taken)
    }

    fn refuse_access_paths(&self, volumes: &[VolumeId]) -> Result<(), DiskError> {
        match self.volumes.mounted(volumes)? {
            Some(volume) => Err(self.in_the_way(volume, Obstacle::AccessPath)),
            None => Ok(()),
        }
    }

    fn in_the_way(&self, volume: VolumeId, obstacle: Obstacle) -> DiskError {
        DiskError::OnlineWritable {
            disk: self.volumes.found.number(),
            volume,
            obstacle,
        }
    }
}
