//! Disks of one signature or GUID: a clone beside what it was made of.
//!
//! Windows keeps a disk offline whose signature another online disk has
//! (<https://learn.microsoft.com/openspecs/windows_protocols/ms-vds/037d5b83-d8c8-4f03-9bf6-5af97ebc76aa>),
//! in one of the forms that people saw ([`Collision`]). Brought online it gets a signature of its own if it is writable, and does not come online if it is not
//! (<https://github.com/hpe-storage/common-host-libs/pull/40>, and the code of
//! <https://github.com/MicrosoftDocs/windowsserverdocs/issues/3637>). That the partitions' GUIDs change
//! along is assumed: volumes get other names in any case, since the mount manager gives no name twice.

use std::path::PathBuf;
use std::{fs, io};

use os::{Cause, PartitionStyle, Win32};
use uuid::Uuid;

use super::Machine;
use crate::conditions::Collision;
use crate::ondisk::Table;

impl Machine {
    /// Whether another disk that is online has the disk's signature or GUID.
    pub(crate) fn has_twin(&self, name: &str) -> bool {
        let style = |disk: &str| self.present.get(disk).map(|present| present.table.style);
        let own = match style(name) {
            None | Some(PartitionStyle::Raw | PartitionStyle::Mbr { signature: 0 }) => {
                return false;
            }
            own => own,
        };
        let online = self.state.disks.iter().filter(|(_, disk)| !disk.is_offline);
        online
            .filter(|(other, disk)| *other != name && disk.number.is_some())
            .any(|(other, _)| style(other) == own)
    }

    /// It comes up by nobody's policy.
    pub(super) fn keep_down(&mut self, name: &str) {
        let form = self.spec.storage.collision;
        if let Some(known) = self.state.disks.get_mut(name) {
            known.is_offline = true;
            known.is_read_only |= form == Collision::Hidden;
            known.collides = true;
        }
        self.reread_table(name);
    }

    /// Whether the storage provider leaves the disk out.
    pub(crate) fn is_unlisted(&self, name: &str) -> bool {
        let known = self.state.disks.get(name);
        let collides = known.is_some_and(|disk| disk.collides && disk.is_read_only);
        let table = self.present.get(name).map(|present| &present.table);
        let is_hidden = self.spec.storage.collision == Collision::Hidden;
        collides && is_hidden || table.is_some_and(Table::is_dynamic)
    }

    /// Gives the disk a signature of its own; its volumes keep labels and files.
    pub(crate) fn resign(&mut self, name: &str) -> Result<(), Cause> {
        let before = self.volumes_of(name);
        let table = &self.disk(name)?.table;
        table
            .resign(self.area(name)?)
            .map_err(|_| Win32::IO_DEVICE)?;
        self.change(name, |disk| disk.collides = false)?;
        self.settle(name);
        let renamed = before.into_iter().zip(self.volumes_of(name));
        for (old, new) in renamed {
            self.rename_volume(name, old, new)
                .map_err(|_| Win32::IO_DEVICE)?;
        }
        Ok(())
    }

    /// The host folder with the files of a clone's volume, which first has the name of another volume.
    pub(super) fn own_files(&self, disk: &str, volume: Uuid) -> Option<PathBuf> {
        let files = self
            .hardware
            .folder()?
            .join("disks")
            .join(format!("{disk}.files"));
        files.exists().then(|| files.join(volume.to_string()))
    }

    fn volumes_of(&self, name: &str) -> Vec<Uuid> {
        let table = self.present.get(name).map(|present| &present.table);
        let partitions = table.into_iter().flat_map(|table| &table.partitions);
        partitions.map(|partition| partition.id).collect()
    }

    fn rename_volume(&mut self, disk: &str, old: Uuid, new: Uuid) -> io::Result<()> {
        if let Some(label) = self.state.labels.get(&old).cloned() {
            self.state.labels.insert(new, label);
        }
        match (self.files_on(disk, old), self.files_on(disk, new)) {
            (Some(from), Some(to)) if from.exists() => fs::rename(from, to),
            _ => Ok(()),
        }
    }

    /// The host folder with the files of a volume that may not have appeared; `None` if they belong to
    /// another.
    fn files_on(&self, disk: &str, volume: Uuid) -> Option<PathBuf> {
        let own = self.own_files(disk, volume);
        let mut others = self.present.keys().filter(|other| *other != disk);
        let is_anothers = others.any(|other| {
            self.volumes_of(other).contains(&volume) && self.own_files(other, volume).is_none()
        });
        let usual = || {
            Some(
                self.folder
                    .as_ref()?
                    .join("volumes")
                    .join(volume.to_string()),
            )
        };
        own.or_else(|| usual().filter(|_| !is_anothers))
    }
}
