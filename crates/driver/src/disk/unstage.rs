use transport::Code;
use wincsi::disks::FoundDisk;
use wincsi::filesystem::Look;
use wincsi::volumes::VolumeId;
use wincsi::{Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use super::{DiskVolumes, Shared, VolData};
use crate::record::{Record, State, VolumeHandle};

/// Why a volume was not unstaged.
#[derive(Debug, thiserror::Error)]
pub enum UnstageError {
    /// The volume is published: kubelet unpublishes first.
    #[error("volume {volume} is published at {target}")]
    Published {
        /// The volume.
        volume: VolumeHandle,
        /// A target.
        target: WinPath,
    },
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl UnstageError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Published { .. } => Code::FailedPrecondition,
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl DiskVolumes {
    /// Unstages a volume: writes what is cached, unmounts the volume, and takes its disk offline unless something else
    /// uses it. A disk that was pulled out is no error.
    ///
    /// Without a record the disk is the one that is mounted exactly at the staging path, if kubelet's own file beside it
    /// names this driver and the volume. Otherwise what is mounted there is unmounted, and the disk stays online.
    ///
    /// # Errors
    /// See [`UnstageError`].
    pub fn unstage(&self, volume: &VolumeHandle, staging: &WinPath) -> Result<(), UnstageError> {
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let Some(record) = slot.get().map_err(Shared::from)? else {
            let unstaged = self.unstage_unrecorded(volume, staging);
            return Ok(unstaged.map_err(Shared::from)?);
        };
        self.check_unpublished(&record)?;
        let mark = |record: &mut Record| record.state = State::Unstaging;
        slot.change(mark).map_err(Shared::from)?;
        self.put_away(&record, staging).map_err(Shared::from)?;
        slot.remove().map_err(Shared::from)?;
        // Last: what a stats that runs beside noted meanwhile is forgotten too, and it notes nothing after this.
        self.health.forget(volume);
        Ok(())
    }

    /// A target that is gone does not count.
    fn check_unpublished(&self, record: &Record) -> Result<(), UnstageError> {
        for target in &record.published {
            let files = self.node.filesystem();
            let exists = files.path_exists(target, self.deadline());
            if exists.map_err(Shared::from)? {
                return Err(UnstageError::Published {
                    volume: record.volume.clone(),
                    target: target.clone(),
                });
            }
        }
        Ok(())
    }

    fn put_away(&self, record: &Record, staging: &WinPath) -> Result<(), Error> {
        let deadline = self.deadline();
        self.dismount(staging, record.mounted, deadline)?;
        if *staging != record.staging {
            self.dismount(&record.staging, record.mounted, deadline)?;
        }
        self.node.disks().rescan(deadline)?;
        let found = self.node.disks().find(&record.disk, deadline);
        match found.none_if(Condition::NotFound)? {
            Some(disk) if self.has_recorded(record, &disk, deadline)? => {
                self.release(&record.volume, &disk, deadline)
            }
            Some(_) => {
                let volume = &record.volume;
                tracing::warn!("volume {volume}: another disk is in its place, and stays online");
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether the disk has the volume that was staged, or none was.
    fn has_recorded(
        &self,
        record: &Record,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        let Some(mounted) = record.mounted else {
            return Ok(true);
        };
        let volumes = self
            .node
            .volumes()
            .list_on_disk(disk.number(), None, deadline);
        let volumes = volumes.none_if(Condition::NotFound)?.unwrap_or_default();
        Ok(volumes.is_empty() || volumes.contains(&mounted))
    }

    fn unstage_unrecorded(&self, volume: &VolumeHandle, staging: &WinPath) -> Result<(), Error> {
        let deadline = self.deadline();
        let disk = match self.is_of_kubelet(volume, staging) {
            true => self.disk_mounted_at(staging, deadline)?,
            false => None,
        };
        self.dismount(staging, None, deadline)?;
        match disk {
            Some(disk) => self.release(volume, &disk, deadline),
            None => {
                tracing::warn!("volume {volume} has no record, so its disk stays online");
                Ok(())
            }
        }
    }

    /// Whether kubelet's file beside the staging path names this driver and the volume.
    fn is_of_kubelet(&self, volume: &VolumeHandle, staging: &WinPath) -> bool {
        let data = VolData::beside(staging, self.machine.as_ref());
        data.is_some_and(|data| data.names(&self.kubelet.driver_name, volume))
    }

    /// The disk of the volume that is mounted exactly at the path; none of a link or a plain directory.
    fn disk_mounted_at(
        &self,
        staging: &WinPath,
        deadline: Deadline,
    ) -> Result<Option<FoundDisk>, Error> {
        if !self.node.supports(Feature::EntryLooks) {
            return Ok(None);
        }
        match self.node.filesystem().look(staging, deadline)? {
            Look::MountedFolder { is_there: true, .. } => {
                self.node.disks().find_at(staging, deadline).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Takes the disk offline unless something else uses it: another record, an access path or an open file.
    fn release(
        &self,
        volume: &VolumeHandle,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<(), Error> {
        if !self.node.supports(Feature::CheckedOffline) {
            tracing::info!(
                "volume {volume}: its disk stays online, as the host cannot tell its use"
            );
            return Ok(());
        }
        if let Some(other) = self.other_record_of(volume, disk, deadline)? {
            tracing::warn!("volume {volume}: its disk stays online for volume {other}");
            return Ok(());
        }
        match self.node.disks().take_offline(disk, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            Err(error) if error.is(Condition::InUse) => {
                tracing::warn!("volume {volume}: its disk stays online: {error}");
                Ok(())
            }
            done => done,
        }
    }

    /// Another volume whose record names the disk.
    fn other_record_of(
        &self,
        volume: &VolumeHandle,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<Option<VolumeHandle>, Error> {
        let others = self.store.records();
        let mut others = others.filter(|record| record.volume != *volume).peekable();
        if others.peek().is_none() {
            return Ok(None);
        }
        let volumes = self
            .node
            .volumes()
            .list_on_disk(disk.number(), None, deadline);
        let on_disk: Vec<VolumeId> = volumes.none_if(Condition::NotFound)?.unwrap_or_default();
        let names_disk = |record: &Record| {
            let is_mounted = record.mounted.is_some_and(|id| on_disk.contains(&id));
            is_mounted || record.disk == *disk.wanted()
        };
        Ok(others.find(names_disk).map(|record| record.volume))
    }
}
