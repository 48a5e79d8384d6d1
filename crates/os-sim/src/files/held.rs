//! A directory that someone holds, and its entries by the directory itself.

use std::path::PathBuf;

use os::{Cause, Component, Held, LinkKind, Pin, Placeholder, Win32, WinPath};

use super::FileTree;
use super::host::{self, Node};
use super::pins::{self, Pins};
use super::placeholder::Reserved;
use super::walk::Destination;

/// A pinned directory. Its path is free of links, and stays so while it is pinned, but for the
/// directory itself: a process that may write there can make a reparse point of it while it is empty.
pub(super) struct HeldDirectory {
    tree: FileTree,
    path: WinPath,
    host: PathBuf,
    _held: pins::PinGuard,
}

impl HeldDirectory {
    pub(super) fn new(tree: &FileTree, place: Destination) -> Self {
        Self {
            tree: tree.clone(),
            path: place.path,
            host: place.host.clone(),
            _held: Pins::hold(&tree.pins, place.host),
        }
    }

    fn place(&self) -> Destination {
        Destination::directory(self.path.clone(), self.host.clone())
    }

    /// Windows's error for access by the handle of a directory that has become a reparse point, if
    /// the call must not follow it.
    fn still_plain(&self) -> Result<(), Cause> {
        match host::entry_at(&self.host)? {
            Some(Node::Directory { .. }) => Ok(()),
            _ => Err(Win32::REPARSE_POINT_ENCOUNTERED.into()),
        }
    }
}

impl Held for HeldDirectory {
    fn pin(&self, name: &Component) -> os::Result<Pin> {
        let path = self.path.join(name.clone());
        self.tree.look("NtCreateFile", &path, || {
            self.still_plain()?;
            // A disk that is pulled out takes its directories along, held or not.
            self.tree.folder(path.root())?;
            self.tree.pinned_at(self.place().enter(name)?)
        })
    }

    fn remove(&self, name: &Component) -> os::Result<()> {
        let path = self.path.join(name.clone());
        let unmounted = self.tree.change("SetFileInformationByHandle", &path, || {
            self.still_plain()?;
            self.tree.take_entry(&path)
        })?;
        if let Some((folder, volume)) = unmounted {
            self.tree.mounts.forget(&folder, volume);
        }
        Ok(())
    }

    fn remove_symlink(&self, name: &Component, kind: LinkKind) -> os::Result<()> {
        let path = self.path.join(name.clone());
        self.tree.change("SetFileInformationByHandle", &path, || {
            self.still_plain()?;
            self.tree.take_symlink(&path, kind)
        })
    }

    fn create_directory(&self, name: &Component) -> os::Result<()> {
        let path = self.path.join(name.clone());
        self.tree.change("NtCreateFile", &path, || {
            self.still_plain()?;
            self.tree.make_directory(&path)
        })
    }

    fn reserve(&self, name: &Component, kind: LinkKind) -> os::Result<Box<dyn Placeholder>> {
        let path = self.path.join(name.clone());
        self.tree.change("NtCreateFile", &path, || {
            self.still_plain()?;
            Ok(Box::new(Reserved::make(&self.tree, &path, kind)?) as Box<dyn Placeholder>)
        })
    }
}
