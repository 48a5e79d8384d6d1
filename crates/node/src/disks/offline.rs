//! Taking a disk offline that a driver no longer uses.

use os::{Deadline, VolumeId, VolumeLock};

use super::state::Switching;
use super::{DiskError, FoundDisk, Named};
use crate::locks::{Key, LockGuard};
use crate::volumes::{flush, on_disk};
use crate::{Disks, Node, VolumeError};

/// The operation's name in errors.
pub(super) const NAME: &str = "offline disk";

#[allow(missing_docs, reason = "documented in `api::Disks`")]
impl Disks<'_> {
    pub fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<(), DiskError> {
        let volumes = Volumes {
            node: self.node,
            found: disk,
            operation: NAME,
            deadline,
        };
        let (_held, on_disk) = volumes.lock()?;
        volumes
            .switching()
            .offline_after(|| volumes.release(&on_disk))
    }
}

/// The volumes of a disk that goes offline.
pub(super) struct Volumes<'a> {
    pub(super) node: &'a Node,
    pub(super) found: &'a FoundDisk,
    pub(super) operation: &'static str,
    pub(super) deadline: Deadline,
}

impl Volumes<'_> {
    /// Our own locks, of the disk and of its volumes. Volumes are locked before disks, and are known only
    /// after a query of the disk: so the query is repeated until nothing changed in between.
    pub(super) fn lock(&self) -> Result<(LockGuard, Vec<VolumeId>), DiskError> {
        let mut volumes = self.list()?;
        loop {
            let of_volumes = volumes.iter().copied().map(Key::Volume);
            let keys = of_volumes.chain([Key::Disk(self.found.number())]);
            let held = self.node.lock(self.operation, keys, self.deadline)?;
            match self.list()? {
                now if now == volumes => return Ok((held, volumes)),
                now => volumes = now,
            }
        }
    }

    pub(super) fn switching(&self) -> Switching<'_> {
        Switching::of(self.node, Named::from(self.found), self.deadline)
    }

    fn list(&self) -> Result<Vec<VolumeId>, DiskError> {
        on_disk::all(self.node, self.found.number(), self.deadline)
    }

    /// Refuses while a volume is mounted, flushes all, locks all against other processes, and dismounts them: while
    /// one is in use, none is dismounted.
    fn release(&self, volumes: &[VolumeId]) -> Result<Vec<Taken>, DiskError> {
        if let Some(volume) = self.mounted(volumes)? {
            let disk = self.found.number();
            return Err(DiskError::Mounted { disk, volume });
        }
        for volume in volumes {
            self.check()?;
            flush::if_any(self.node.os(), *volume).map_err(Box::new)?;
        }
        let all = self.take_all(volumes).map_err(Box::new)?;
        self.dismount(&all)?;
        Ok(all)
    }

    /// The first volume that a drive letter or a mounted folder leads to.
    pub(super) fn mounted(&self, volumes: &[VolumeId]) -> Result<Option<VolumeId>, DiskError> {
        for volume in volumes {
            self.check()?;
            if self.has_access_path(*volume)? {
                return Ok(Some(*volume));
            }
        }
        Ok(None)
    }

    fn has_access_path(&self, volume: VolumeId) -> Result<bool, DiskError> {
        match self.node.os().volumes.access_paths(volume) {
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => {
                let failed = VolumeError::failed("list the access paths of", volume);
                Err(Box::new(failed(error)).into())
            }
            Ok(paths) => Ok(!paths.is_empty()),
        }
    }

    pub(super) fn take_all(&self, volumes: &[VolumeId]) -> Result<Vec<Taken>, VolumeError> {
        let mut all = Vec::new();
        for volume in volumes {
            all.extend(self.take(*volume)?);
        }
        Ok(all)
    }

    /// Windows's lock of a volume; `None` if the volume is gone.
    fn take(&self, volume: VolumeId) -> Result<Option<Taken>, VolumeError> {
        match flush::lock_unused(self.node, volume, self.deadline) {
            Ok(lock) => Ok(Some(Taken { volume, lock })),
            Err(VolumeError::Failed { source, .. }) if source.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn dismount(&self, all: &[Taken]) -> Result<(), DiskError> {
        for taken in all {
            self.check()?;
            let failed = VolumeError::failed("dismount", taken.volume);
            let dismounted = taken.lock.dismount();
            dismounted.map_err(|error| Box::new(failed(error)))?;
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), DiskError> {
        let disk = self.found.number();
        Ok(self.node.check(self.deadline, self.operation, &disk)?)
    }
}

/// A volume that this process has locked.
pub(super) struct Taken {
    volume: VolumeId,
    lock: Box<dyn VolumeLock>,
}
