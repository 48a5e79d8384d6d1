//! Bringing a disk online read-only.
//!
//! Windows mounts a disk's volumes as soon as the disk is online, and then writes to it. So the disk is made read-only
//! first. A disk that is online and writable goes offline before that, which must disturb nobody.
//!
//! A writable disk goes offline only if no volume of it has an access path, and after its volumes were flushed, locked and
//! dismounted. While one of them is in use, the call changes nothing.

use os::{Deadline, VolumeId};

use super::offline::{Taken, Volumes};
use super::state::Switching;
use super::{DiskError, FoundDisk, Named, Obstacle};
use crate::{Node, VolumeError};

/// The operation's name in errors.
const NAME: &str = "online disk read-only";

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

    /// Locks and dismounts all volumes of a writable disk, if none has an access path. It changes nothing
    /// before it holds all locks.
    fn release(&self, volumes: &[VolumeId]) -> Result<Vec<Taken>, DiskError> {
        self.refuse_access_paths(volumes)?;
        let taken = self.volumes.take_all(volumes);
        let taken = taken.map_err(|error| match error {
            VolumeError::InUse { volume } => self.in_the_way(volume, Obstacle::OpenFile),
            error => Box::new(error).into(),
        })?;
        // Another process may have added a path before the lock.
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
