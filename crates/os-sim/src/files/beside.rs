//! The files of a node that another process has open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::{Error, Root, Win32};

use super::{FileTree, Roots};
use crate::smb;

impl FileTree {
    /// The files of a node that another process may have open, as a pod there sees them: on drive C, whose folder
    /// [`FileTree::host_path`] answers for `C:\`, on the volumes that mounted folders lead to, and on the shares that
    /// the node has mapped.
    #[must_use]
    pub fn beside(folder: &Path, drive_c: &Path) -> Self {
        Self::new(Arc::new(Folders {
            node: folder.to_owned(),
            drive_c: drive_c.to_owned(),
        }))
    }
}

struct Folders {
    node: PathBuf,
    drive_c: PathBuf,
}

impl Roots for Folders {
    fn folder(&self, root: &Root) -> os::Result<PathBuf> {
        let place = match root {
            Root::Drive('C') => Some(self.drive_c.clone()),
            Root::Drive(_) => None,
            Root::Share { host, share } => {
                let place = smb::share_folder_beside(&self.node, host, share);
                Some(place.map_err(|cause| Error::new("CreateFileW", root, cause))?)
            }
            Root::Volume(volume) => {
                let volumes = self.node.join("volumes");
                Some(volumes.join(volume.0.to_string()))
            }
        };
        let there = place.filter(|place| place.is_dir());
        there.ok_or_else(|| Error::new("CreateFileW", root, Win32::PATH_NOT_FOUND))
    }
}
