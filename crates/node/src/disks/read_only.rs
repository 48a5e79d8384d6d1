//! Bringing a disk online read-only.
//!
//! Windows mounts a disk's volumes as soon as the disk is online, and then writes to it. So the disk is made read-only
//! first. A disk that is online and writable goes offline before that, which must disturb nobody.
//!
//! A writable disk goes offline only if no volume of it has an access path, and after its volumes were flushed, locked and
//! dismounted. While one of them is in use, the call changes nothing.

use os::{Deadline, VolumeId};

use super::offline::{Taken, Volumes};
use super::{DiskError, FoundDisk, Obstacle};
use crate::{Disks, VolumeError};

#[allow(missing_docs, reason = "documented in `api::Disks`")]
impl Disks<'_> {
    pub fn bring_online_read_only(
        &self,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        let volumes = Volumes {
            node: self.node,
            found: disk,
            operation: "online disk read-only",
            deadline,
        };
        let (_held, on_disk) = volumes.lock()?;
        let switching = volumes.switching();
        switching.online_read_only(|| volumes.release_unmounted(&on_disk))
    }
}

impl Volumes<'_> {
    /// Locks and dismounts all volumes of a writable disk, if none has an access path. It changes nothing
    /// before it holds all locks.
    fn release_unmounted(&self, volumes: &[VolumeId]) -> Result<Vec<Taken>, DiskError> {
        self.refuse_access_paths(volumes)?;
        let taken = self.take_all(volumes);
        let taken = taken.map_err(|error| match error {
            VolumeError::InUse { volume } => self.in_the_way(volume, Obstacle::OpenFile),
            error => Box::new(error).into(),
        })?;
        // Another process may have added a path before the lock.
        self.refuse_access_paths(volumes)?;
        self.dismount(&taken)?;
        Ok(taken)
    }

    fn refuse_access_paths(&self, volumes: &[VolumeId]) -> Result<(), DiskError> {
        match self.mounted(volumes)? {
            Some(volume) => Err(self.in_the_way(volume, Obstacle::AccessPath)),
            None => Ok(()),
        }
    }

    fn in_the_way(&self, volume: VolumeId, obstacle: Obstacle) -> DiskError {
        DiskError::OnlineWritable {
            disk: self.found.number(),
            volume,
            obstacle,
        }
    }
}
