use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use os::{Cause, DiskNumber, Extent, VolumeId, Win32};

use super::spanned::Spanned;
use super::{Machine, moment};
use crate::hardware::Stretch;
use crate::ondisk::{Filesystem, Partition};

/// Where a volume lies.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The disk that it begins on.
    pub(crate) disk: String,
    pub(super) number: u32,
    /// Its place on the disk; of a spanned volume all of that.
    pub(crate) partition: Partition,
    pub(super) spanned: Option<Arc<Spanned>>,
}

impl Home {
    /// The volume's extents in the kernel's view.
    pub(crate) fn extents(&self) -> Vec<Extent> {
        match &self.spanned {
            Some(spanned) => spanned.extents.iter().map(|it| it.extent).collect(),
            None => vec![Extent {
                disk: DiskNumber(self.number),
                offset: self.partition.offset,
                length: self.partition.length,
            }],
        }
    }

    fn disks(&self) -> Vec<&str> {
        match &self.spanned {
            Some(spanned) => spanned.extents.iter().map(|it| it.disk.as_str()).collect(),
            None => vec![&self.disk],
        }
    }
}

impl Machine {
    /// The volumes that have appeared, in the order of the system, which is none that means anything.
    pub(crate) fn volume_ids(&self) -> Vec<VolumeId> {
        let disks = self.state.disks.values();
        let mut ids: Vec<_> = disks
            .flat_map(|disk| &disk.volumes)
            .chain(&self.state.spanned)
            .filter(|(_, due)| moment(**due) <= self.now)
            .map(|(id, _)| VolumeId(*id))
            .collect();
        ids.sort();
        ids
    }

    /// Where a volume lies that has appeared.
    pub(crate) fn home(&self, volume: VolumeId) -> Result<Home, Cause> {
        self.find_home(volume)
            .or_else(|| self.spanned_home(volume))
            .ok_or_else(|| Win32::FILE_NOT_FOUND.into())
    }

    fn find_home(&self, volume: VolumeId) -> Option<Home> {
        let disk = self.homes.get(&volume.0)?;
        let known = self.state.disks.get(disk)?;
        let due = known.volumes.get(&volume.0)?;
        if moment(*due) > self.now {
            return None;
        }
        let mut partitions = self.present.get(disk)?.table.partitions.iter();
        Some(Home {
            disk: disk.clone(),
            number: known.number?,
            partition: partitions
                .find(|partition| partition.id == volume.0)?
                .clone(),
            spanned: None,
        })
    }

    /// The volume's filesystem; `None` when it is RAW.
    pub(crate) fn filesystem(&self, home: &Home) -> Result<Option<Filesystem>, Cause> {
        let area = self.area_of(home)?;
        if Stretch::meets_any(area.unreadable, home.partition.offset, 512) {
            return Err(Win32::IO_DEVICE.into());
        }
        Ok(Filesystem::read(area, &home.partition))
    }

    /// The unused space in bytes.
    pub(crate) fn free_space(&self, volume: VolumeId, filesystem: &Filesystem) -> u64 {
        let folder = self.files_of(volume);
        left_of(filesystem.room(), folder.as_deref(), filesystem.cluster)
    }

    /// The host folder that holds the files of a volume; `None` for a node in memory.
    pub(crate) fn files_of(&self, volume: VolumeId) -> Option<PathBuf> {
        let disk = self.homes.get(&volume.0);
        if let Some(own) = disk.and_then(|disk| self.own_files(disk, volume.0)) {
            return Some(own);
        }
        let folder = self.folder.as_ref()?;
        Some(folder.join("volumes").join(volume.0.to_string()))
    }

    pub(crate) fn is_read_only(&self, home: &Home) -> bool {
        let mut on = home.disks().into_iter();
        on.any(|disk| self.refuses_writes(disk)) || home.partition.is_read_only
    }

    /// By Windows's attribute of the disk, or by the device.
    pub(crate) fn refuses_writes(&self, disk: &str) -> bool {
        let (known, present) = (self.state.disks.get(disk), self.present.get(disk));
        known.is_some_and(|known| known.is_read_only)
            || present.is_some_and(|present| present.disk.spec.write_protected)
    }

    pub(crate) fn label(&self, volume: VolumeId) -> String {
        self.state
            .labels
            .get(&volume.0)
            .cloned()
            .unwrap_or_default()
    }
}

/// The room for files, less the files below the folder, in bytes.
pub(crate) fn left_of(room: u64, folder: Option<&Path>, cluster: u32) -> u64 {
    let used = folder.and_then(|folder| occupied(folder, cluster.into()).ok());
    room.saturating_sub(used.unwrap_or_default())
}

/// The clusters that all files below the folder take.
pub(crate) fn occupied(folder: &Path, cluster: u64) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() {
            occupied(&entry.path(), cluster)?
        } else {
            metadata.len().next_multiple_of(cluster)
        };
    }
    Ok(total)
}
