//! The simulated node's files: Windows's rules over real folders of the host.
//!
//! Every drive, volume and share of the node is a folder somewhere on the host ([`Roots`] says
//! where), and the tree walks there as Windows would: names compare without regard to case, links
//! in the middle of a path are followed and counted, and each failure has the code that Windows
//! gives. The same code runs on Linux, on Windows and under Wine.
//!
//! # How things lie on the host
//! Files and directories are themselves. A reparse point of any kind is a host directory that holds
//! nothing but a marker with the tag's data (see `marker`): hosts without links can hold it, a
//! folder becomes a mounted folder and back by one rename or one deletion, and a process that is
//! killed at any moment leaves the old state or the new one. An access control list that somebody set
//! is a file in its directory (see `rights`). Names that begin with
//! `$WinCSI.` are ours and exist for nobody else.

mod acts;
mod beside;
mod held;
mod host;
mod links;
mod marker;
mod names;
mod pins;
mod placeholder;
mod rights;
mod seam;
mod tools;
mod walk;

#[cfg(test)]
mod tests;
#[cfg(all(test, unix))]
mod tests_unix;

#[cfg_attr(windows, path = "sys_windows.rs")]
#[cfg_attr(not(windows), path = "sys_unix.rs")]
mod sys;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use os::{Error, Result, Root, VolumeId, WinPath};

use self::pins::Pins;

/// Where the node's drives, volumes and shares lie on the host.
///
/// Called while the tree holds its own lock, so an implementation must not call the tree, nor wait
/// for a lock that someone holds who calls the tree.
pub trait Roots: Send + Sync {
    /// The host folder that holds the root's content.
    ///
    /// # Errors
    /// What opening the root gives on Windows: [`os::Win32::PATH_NOT_FOUND`] for a letter without a
    /// volume and for a volume that the system does not know (the object manager finds no such
    /// name; not seen on Windows by us), [`os::Win32::UNRECOGNIZED_VOLUME`] for a RAW one,
    /// [`os::Win32::BAD_NETPATH`] for a dead server. Only the cause is used.
    fn folder(&self, root: &Root) -> Result<PathBuf>;

    /// Whether the root's filesystem refuses writes.
    fn is_read_only(&self, root: &Root) -> bool {
        let _ = root;
        false
    }
}

/// Receives the removal of a mounted folder as an entry: the mount manager.
///
/// Called after the entry is gone, without a lock on the tree.
pub trait MountWatcher: Send + Sync {
    /// `folder` led to `volume` and is there no more. The path is free of links, as the one that
    /// [`FileTree::set_mount_point`] gave; the two may differ in case ([`WinPath::folded`]).
    fn forget(&self, folder: &WinPath, volume: VolumeId);
}

/// The files of a simulated node. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct FileTree {
    roots: Arc<dyn Roots>,
    mounts: Arc<dyn MountWatcher>,
    pins: Arc<Pins>,
    /// Held for reading by calls that look and for writing by calls that change: a check and the
    /// change that relies on it are one step.
    lock: Arc<RwLock<()>>,
}

impl FileTree {
    /// A tree over the folders that `roots` names.
    pub fn new(roots: Arc<dyn Roots>) -> Self {
        Self {
            roots,
            mounts: Arc::new(Nobody),
            pins: Arc::default(),
            lock: Arc::default(),
        }
    }

    /// The tree with `mounts` being told of removed mounted folders.
    #[must_use]
    pub fn with_mount_watcher(mut self, mounts: Arc<dyn MountWatcher>) -> Self {
        self.mounts = mounts;
        self
    }

    /// Makes an empty folder lead to a volume, and gives the folder's path free of links, which is
    /// what the mount manager remembers.
    ///
    /// # Errors
    /// [`os::Win32::DIR_NOT_EMPTY`] when the folder holds something or is a reparse point already,
    /// [`os::Win32::DIRECTORY`] for a file, [`os::Win32::SHARING_VIOLATION`] while it is pinned; no such
    /// folder.
    pub fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<WinPath> {
        let _changing = self.changing();
        self.mount(folder, volume)
            .map_err(|cause| Error::new("SetVolumeMountPointW", folder, cause))
    }

    /// Makes a mounted folder a plain folder again, and gives its path free of links and the volume
    /// that it led to. Tells no [`MountWatcher`]: the caller knows.
    ///
    /// # Errors
    /// [`os::Win32::NOT_A_REPARSE_POINT`] for a plain folder, [`os::Win32::INVALID_PARAMETER`] for another
    /// reparse point; no such folder.
    pub fn remove_mount_point(&self, folder: &WinPath) -> Result<(WinPath, VolumeId)> {
        let _changing = self.changing();
        self.unmount(folder)
            .map_err(|cause| Error::new("DeleteVolumeMountPointW", folder, cause))
    }

    /// Turns a mounted folder of this volume into a plain folder. The mount manager does not learn of it.
    ///
    /// # Errors
    /// [`os::Win32::NOT_A_REPARSE_POINT`] for a plain folder, [`os::Win32::REPARSE_TAG_MISMATCH`] for another
    /// reparse point or volume; there is no such folder.
    pub fn remove_reparse_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        let _changing = self.changing();
        self.take_mount_from(folder, volume)
            .map_err(|cause| Error::new("FSCTL_DELETE_REPARSE_POINT", folder, cause))
    }

    /// The volume that a mounted folder leads to, present or not.
    ///
    /// # Errors
    /// As [`FileTree::remove_mount_point`].
    pub fn mounted_volume(&self, folder: &WinPath) -> Result<VolumeId> {
        let _looking = self.looking();
        self.mounted(folder)
            .map(|(_, volume)| volume)
            .map_err(|cause| Error::new("GetVolumeNameForVolumeMountPointW", folder, cause))
    }

    /// The root of a directory's filesystem, once all links are followed.
    ///
    /// # Errors
    /// [`os::Win32::PATH_NOT_FOUND`] for a missing entry, [`os::Win32::DIRECTORY`] for one that is no directory.
    pub fn root_behind(&self, directory: &WinPath) -> Result<Root> {
        let _looking = self.looking();
        self.root_of(directory)
            .map_err(|cause| Error::new("GetDiskFreeSpaceExW", directory, cause))
    }

    fn looking(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens to nothing.
struct Nobody;

impl MountWatcher for Nobody {
    fn forget(&self, _folder: &WinPath, _volume: VolumeId) {}
}
