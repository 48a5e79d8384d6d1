use wincsi::disks::FoundDisk;
use wincsi::filesystem::Look;
use wincsi::volumes::VolumeId;
use wincsi::{Cause, Condition, Error, Feature, ResultExt as _, WinPath};

use super::{Block, Disk, DiskRecord, Leaves, Source, Use, is_bound};
use crate::kinds::Unrecorded;
use crate::life::{Call, CallError};
use crate::path::KubeletPath;
use crate::record::VolumeHandle;

impl<S: Source> Call<'_, Block<S>> {
    pub(super) fn unstage_disk(
        &self,
        record: &DiskRecord<S>,
        staging: &KubeletPath,
    ) -> Result<(), CallError> {
        let mut unmounted = self.dismount(staging, record.content.mounted)?;
        if *staging != record.staging {
            unmounted = self.dismount(&record.staging, record.content.mounted)?;
        }
        if unmounted.is_none()
            && let Err(error) = self.forget_path(record)
        {
            let volume = &record.volume;
            tracing::warn!("volume {volume}: its staging path may keep its disk: {error}");
        }
        let content = &record.content;
        let of = Use::new(&record.volume, &content.source);
        self.put_away(of, content.mounted, content.identity.as_deref())
    }

    /// Takes the disk of a volume offline, if it is there, and still the volume's; then leaves it, free if it is offline, and
    /// no other volume has it. Of two volumes that end at once each sees the other, and the disk stays attached: pulled out
    /// under the one that is still mounted it would lose data. A volume whose record cannot be read may have it too.
    pub(super) fn put_away(
        &self,
        of: Use<'_, S::Spec>,
        mounted: Option<VolumeId>,
        identity: Option<&str>,
    ) -> Result<(), CallError> {
        let volume = of.volume;
        let is_offline = self.source.wake(&of, self.deadline)?
            && self.release_recorded(&of, mounted, identity)?;
        if !S::ATTACHES {
            return Ok(());
        }
        let is_of_others =
            self.ctx.store.unreadable() > 0 || self.others_from(volume, of.disk).next().is_some();
        let leaves = match is_offline && !is_of_others {
            true => Leaves::Free,
            false => Leaves::InUse,
        };
        if leaves == Leaves::InUse {
            tracing::warn!("volume {volume}: its disk stays attached, as it is or may be in use");
        }
        self.source.detach(of, leaves, self.deadline)
    }

    /// The records of other volumes whose disk comes from the same source.
    pub(super) fn others_from(
        &self,
        volume: &VolumeHandle,
        source: &S::Spec,
    ) -> impl Iterator<Item = DiskRecord<S>> {
        let records = self.ctx.store.records_of::<Disk<S::Spec>>();
        let is_other = |record: &DiskRecord<S>| {
            S::ATTACHES && record.volume != *volume && record.content.source == *source
        };
        records.filter(is_other)
    }

    /// Whether the disk is offline now, or gone.
    fn release_recorded(
        &self,
        of: &Use<'_, S::Spec>,
        mounted: Option<VolumeId>,
        identity: Option<&str>,
    ) -> Result<bool, Error> {
        let (volume, source) = (of.volume, of.disk);
        let disks = self.ctx.node.disks();
        disks.rescan(self.deadline)?;
        let found = disks.find(&self.source.query(source), self.deadline);
        let found = found.none_if(Condition::NotFound);
        match found {
            Ok(Some(disk)) if is_bound(identity, &disk) && self.has_recorded(mounted, &disk)? => {
                return self.release(volume, &disk);
            }
            Ok(Some(_)) => {
                tracing::warn!("volume {volume}: another disk is in its place, and stays online");
            }
            Ok(None) => {
                if mounted.is_some() {
                    tracing::warn!(
                        "volume {volume}: its disk is gone, and nothing could be flushed"
                    );
                }
                return Ok(true);
            }
            // Nothing tells which disk it is, as beside a clone: that lasts, and the volume is dismounted.
            Err(error) if error.is(Condition::Ambiguous) || error.is(Condition::Guarded) => {
                tracing::warn!("volume {volume}: its disk stays online, if it is there: {error}");
            }
            Err(error) => return Err(error),
        }
        Ok(false)
    }

    /// A death within the mount manager's call may leave it the path of a folder where nothing is mounted any more, and
    /// the path would keep the disk online. The end of another mount there has it forgotten.
    fn forget_path(&self, record: &DiskRecord<S>) -> Result<(), Error> {
        let (node, at) = (&self.ctx.node, &record.staging);
        let Some(mounted) = record.content.mounted else {
            return Ok(());
        };
        if !self.ctx.has(Feature::CheckedOffline) {
            return Ok(());
        }
        let found = self.find_disk(record);
        let Some(disk) = found.none_if(Condition::NotFound)? else {
            return Ok(());
        };
        let volumes = disk.volumes(node.as_ref(), self.deadline)?;
        if !volumes.contains(&mounted) || !disk.is_online(node.as_ref(), self.deadline)? {
            return Ok(());
        }
        let volume = node.volumes().find_on(&disk, self.deadline)?;
        node.filesystem().make_directory(at, self.deadline)?;
        node.volumes().mount(&volume, at, self.deadline)?;
        self.dismount(at, Some(mounted)).map(drop)
    }

    /// Whether the disk has the volume that was staged, or none was.
    fn has_recorded(&self, mounted: Option<VolumeId>, disk: &FoundDisk) -> Result<bool, Error> {
        let Some(mounted) = mounted else {
            return Ok(true);
        };
        let volumes = disk.volumes(self.ctx.node.as_ref(), self.deadline)?;
        Ok(volumes.is_empty() || volumes.contains(&mounted))
    }

    pub(super) fn unstage_unrecorded(&self, found: Unrecorded<'_>) -> Result<(), Error> {
        let (volume, staging) = (found.volume, found.at);
        let disk = match self.ctx.is_of_kubelet(volume, staging) {
            true => self.disk_mounted_at(staging)?,
            false => None,
        };
        self.dismount(staging, None)?;
        match disk {
            Some(disk) => drop(self.release(volume, &disk)?),
            None => tracing::warn!(
                "volume {volume} has no record: what was at {staging} is removed, and a disk stays online"
            ),
        }
        Ok(())
    }

    /// The disk of the volume that is mounted exactly at the path; none of a link or a plain directory.
    fn disk_mounted_at(&self, staging: &WinPath) -> Result<Option<FoundDisk>, Error> {
        match self.ctx.look(staging, self.deadline)? {
            Some(Look::MountedFolder { is_there: true, .. }) => {
                let disks = self.ctx.node.disks();
                disks.find_at(staging, self.deadline).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Takes the disk offline unless something else uses it: another record, an access path or an open file. Whether it is
    /// offline now, or gone.
    pub(super) fn release(&self, volume: &VolumeHandle, disk: &FoundDisk) -> Result<bool, Error> {
        if !self.ctx.has(Feature::CheckedOffline) {
            tracing::info!(
                "volume {volume}: its disk stays online, as the host cannot tell its use"
            );
            return Ok(false);
        }
        if self.is_of_another(volume, disk)? {
            return Ok(false);
        }
        let offline = self.ctx.node.disks().take_offline(disk, self.deadline);
        match offline.ok_if(Condition::NotFound) {
            Err(error) if !matches!(error.cause, Cause::Deadline) => {
                // The volume is flushed and dismounted, and Windows may answer so for ever.
                tracing::warn!("volume {volume}: its disk stays online: {error}");
                Ok(false)
            }
            done => done.map(|_| true),
        }
    }

    /// Whether another volume's record names the disk, or a volume on it.
    pub(super) fn is_of_another(
        &self,
        volume: &VolumeHandle,
        disk: &FoundDisk,
    ) -> Result<bool, Error> {
        let other = self.other_record_of(volume, disk, |_| true)?;
        if let Some(other) = &other {
            tracing::warn!("volume {volume}: its disk stays online for volume {other}");
        }
        Ok(other.is_some())
    }

    /// Another volume whose record names the disk, or a volume on it, and whose record is such a one.
    pub(super) fn other_record_of(
        &self,
        volume: &VolumeHandle,
        disk: &FoundDisk,
        is_such: impl Fn(&DiskRecord<S>) -> bool,
    ) -> Result<Option<VolumeHandle>, Error> {
        let others = self.ctx.store.records_of::<Disk<S::Spec>>();
        let others = others.filter(|record| record.volume != *volume && is_such(record));
        let mut others = others.peekable();
        if others.peek().is_none() {
            return Ok(None);
        }
        let on_disk = disk.volumes(self.ctx.node.as_ref(), self.deadline)?;
        let names_disk = |record: &DiskRecord<S>| {
            let mounted = record.content.mounted;
            mounted.is_some_and(|id| on_disk.contains(&id)) || self.has_found(record, disk)
        };
        Ok(others.find(names_disk).map(|record| record.volume))
    }

    /// Whether a record names the disk, by the same key or by what its stage found.
    pub(super) fn has_found(&self, record: &DiskRecord<S>, disk: &FoundDisk) -> bool {
        let found = self.found.lock();
        let is_it = |found: &FoundDisk| found.is_still(disk.seen());
        self.query(record) == *disk.wanted() || found.get(&record.volume).is_some_and(is_it)
    }
}
