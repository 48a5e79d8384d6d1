//! Disks that their storage keeps while they are attached to no node.

use std::path::Path;
use std::{fs, io};

use super::clones;
use super::control::{HardwareControl, HardwareError, Store, about, disk_files, locked};
use crate::folder;

impl HardwareControl {
    /// The disks that the storage keeps unattached. They are made, grown and destroyed like those that are plugged in;
    /// the files of their volumes stay in the node's folder.
    #[must_use]
    pub fn shelf(&self) -> Self {
        match self.store() {
            Store::Folder(folder) => Self::at(folder.join("shelf")),
            Store::Memory(memory) => {
                let mut memory = locked(memory);
                memory.shelf.get_or_insert_with(Self::in_memory).clone()
            }
        }
    }

    /// Plugs in a disk of the shelf.
    ///
    /// # Errors
    /// There is no disk of this name on the shelf, or one is plugged in; a file cannot be moved.
    pub fn plug_disk(&self, name: &str) -> Result<(), HardwareError> {
        self.shelf().move_disk(name, self)
    }

    /// Pulls a disk out, and keeps it on the shelf with all that is on it.
    ///
    /// # Errors
    /// There is no disk of this name, or the shelf has one; a file cannot be moved.
    pub fn unplug_disk(&self, name: &str) -> Result<(), HardwareError> {
        self.move_disk(name, &self.shelf())
    }

    fn move_disk(&self, name: &str, to: &Self) -> Result<(), HardwareError> {
        self.expect_disk(name)?;
        if to.expect_disk(name).is_ok() {
            return Err(HardwareError::Exists(format!("disk {name}")));
        }
        match (self.store(), to.store()) {
            (Store::Folder(from), Store::Folder(to)) => {
                move_files(from, to, name).map_err(|source| about(name, source))?;
            }
            (Store::Memory(from), Store::Memory(to)) => {
                if let Some(disk) = locked(from).take(name) {
                    locked(to).put(name, disk);
                }
            }
            _ => unreachable!("a shelf is kept as its node is"),
        }
        Ok(())
    }
}

/// The specification goes first and comes last: a disk without one is none.
fn move_files(from: &Path, to: &Path, name: &str) -> io::Result<()> {
    let ([spec, image], [new_spec, new_image]) = (disk_files(from, name), disk_files(to, name));
    fs::create_dir_all(to.join("disks"))?;
    let text = fs::read(&spec)?;
    fs::remove_file(&spec)?;
    fs::rename(&image, &new_image)?;
    clones::move_files(from, to, name)?;
    folder::replace(&new_spec, &text)
}

#[cfg(test)]
mod tests {
    use super::HardwareControl;
    use crate::hardware::{Bus, Content, DiskSpec};

    #[test]
    fn what_is_on_a_disk_outlives_its_time_on_the_shelf() {
        let folder = tempfile::tempdir().unwrap();
        let controls = [
            HardwareControl::at(folder.path()),
            HardwareControl::in_memory(),
        ];
        for node in controls {
            let spec = DiskSpec::on(Bus::Sas).serial("1");
            node.shelf()
                .attach_disk("data", &spec, &Content::blank(4096))
                .unwrap();
            assert_eq!(node.disk_names().unwrap(), [""; 0]);
            node.plug_disk("data").unwrap();
            assert!(node.plug_disk("data").is_err());
            node.write_disk("data", 0, b"kept").unwrap();

            node.unplug_disk("data").unwrap();
            assert_eq!(node.disk_text("data").unwrap(), None);
            assert!(node.unplug_disk("data").is_err());
            node.shelf().grow_disk("data", 8192).unwrap();

            node.plug_disk("data").unwrap();
            let mut found = [0; 4];
            node.read_disk("data", 0, &mut found).unwrap();
            assert_eq!(&found, b"kept");
            let text = node.disk_text("data").unwrap().unwrap();
            let disk = node.disk("data", &text).unwrap();
            assert_eq!((disk.spec, disk.medium.length().unwrap()), (spec, 8192));
        }
    }
}
