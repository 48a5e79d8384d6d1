//! Volumes that are disks: stage, grow, unstage, and whether one is mounted where it belongs.

mod error;
mod expand;
mod publish;
pub(crate) mod stage;
pub(crate) mod unstage;

use wincsi::filesystem::Look;
use wincsi::volumes::{FoundVolume, Space, VolumeId};
use wincsi::{Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use crate::life::reconcile::{Place, is_dangling};
use crate::life::{Volumes, is_nothing_mounted};
use crate::record::{Disk, Record};

pub use self::error::StageError;
pub use self::expand::{Capacity, ExpandError};
pub use self::stage::Stage;

impl Volumes {
    /// The volume that is mounted where a path leads to by links, if it is the one that the record has.
    pub(crate) fn live(
        &self,
        record: &Record<Disk>,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<Option<FoundVolume>, Error> {
        match self.node.volumes().find_at(path, deadline) {
            Ok(found) if record.what.mounted == Some(found.id()) => Ok(Some(found)),
            Ok(_) => Ok(None),
            Err(error) if is_nothing_mounted(&error) => Ok(None),
            Err(error) => match self.is_stale(path, deadline)? {
                true => Ok(None),
                false => Err(error),
            },
        }
    }

    /// What is exactly at a record's staging path.
    pub(crate) fn disk_place(
        &self,
        record: &Record<Disk>,
        deadline: Deadline,
    ) -> Result<Place, Error> {
        if !self.node.supports(Feature::EntryLooks) {
            let live = self.live(record, &record.staging, deadline)?;
            return Ok(live.map_or(Place::NotMounted, |_| Place::Live));
        }
        Ok(
            match self.node.filesystem().look(&record.staging, deadline)? {
                Look::MountedFolder { volume, is_there } if is_there => {
                    match record.what.mounted == Some(volume) {
                        true => Place::Live,
                        false => Place::NotMounted,
                    }
                }
                look if is_dangling(&look) => Place::Dangling,
                _ => Place::NotMounted,
            },
        )
    }

    pub(crate) fn measure_disk(
        &self,
        record: &Record<Disk>,
        at: &WinPath,
    ) -> Result<Option<Space>, Error> {
        let deadline = self.deadline();
        match self.live(record, at, deadline)? {
            Some(found) => self.node.volumes().stats(found.id(), deadline).map(Some),
            None => Ok(None),
        }
    }

    /// Whether a mounted folder is there whose volume is gone.
    fn is_stale(&self, at: &WinPath, deadline: Deadline) -> Result<bool, Error> {
        let entry = self.entry(at, deadline)?;
        let is_there = |entry: &Look| {
            !matches!(
                entry,
                Look::MountedFolder {
                    is_there: false,
                    ..
                }
            )
        };
        Ok(!entry.as_ref().is_none_or(is_there))
    }

    /// Unmounts what is mounted exactly at a path, and removes the folder, if it is empty. What is not there is success,
    /// and of a link the link alone is removed. `recorded` is the volume that the record has there.
    fn dismount(
        &self,
        at: &WinPath,
        recorded: Option<VolumeId>,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let mounted = match self.entry(at, deadline)? {
            Some(Look::Link(_) | Look::Missing) => None,
            // Also one whose volume is gone, as its disk was pulled out.
            Some(Look::MountedFolder { volume, .. }) => Some(volume),
            Some(_) => self.mounted_at(at, deadline)?,
            None => return self.dismount_unseen(at, recorded, deadline),
        };
        if let Some(volume) = mounted {
            self.node.volumes().unmount(volume, at, deadline)?;
        }
        self.remove(at, deadline)
    }

    /// [`Self::dismount`] through a host that cannot tell what is at the path: it follows links, and does not reach a
    /// volume whose disk is gone. Its unmount knows both.
    fn dismount_unseen(
        &self,
        at: &WinPath,
        recorded: Option<VolumeId>,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let mounted = match self.mounted_at(at, deadline) {
            Err(error) if error.is(Condition::OutOfReach) => Some(recorded.ok_or(error)?),
            Err(error) if error.is(Condition::DanglingLink) => None,
            mounted => mounted?,
        };
        if let Some(volume) = mounted {
            let unmounted = self.node.volumes().unmount(volume, at, deadline);
            unmounted.ok_if(Condition::NotAMountedFolder)?;
        }
        self.remove(at, deadline)
    }

    fn mounted_at(&self, at: &WinPath, deadline: Deadline) -> Result<Option<VolumeId>, Error> {
        match self.node.volumes().of_target(at, deadline) {
            Ok(volume) => Ok(Some(volume)),
            Err(error) if is_nothing_mounted(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
