//! The files of a node that another process has open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::{Error, Root, Win32};

use super::{FileTree, Roots};

impl FileTree {
    /// The files of a node that another process may have open, as a pod there sees them: on drive C, whose folder
    /// [`FileTree::host_path`] answers for `C:\`, and on the volumes that mounted folders lead to.
    #[must_use]
    pub fn beside(folder: &Path, drive_c: &Path) -> Self {
        Self::new(Arc::new(Folders {
            volumes: folder.join("volumes"),
            drive_c: drive_c.to_owned(),
        }))
    }
}

struct Folders {
    volumes: PathBuf,
    drive_c: PathBuf,
}

impl Roots for Folders {
    fn folder(&self, root: &Root) -> os::Result<PathBuf> {
        let place = match root {
            Root::Drive('C') => Some(self.drive_c.clone()),
            Root::Volume(volume) => Some(self.volumes.join(volume.0.to_string())),
            Root::Drive(_) | Root::Share { .. } => None,
        };
        let there = place.filter(|place| place.is_dir());
        there.ok_or_else(|| Error::new("CreateFileW", root, Win32::PATH_NOT_FOUND))
    }
}
