//! An entry that is held until it has become a link.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use os::{Cause, Component, LinkKind, Placeholder, ReparseTag, Win32, WinPath};

use super::FileTree;
use super::host::{self, Node};
use super::marker::ReparsePoint;
use super::pins::{self, Pins};
use super::walk::{Destination, Final};

/// The entry, by its path: that is free of links and stays so, as the directory above is not empty.
pub(super) struct Reserved {
    tree: FileTree,
    kind: LinkKind,
    at: Mutex<At>,
}

struct At {
    path: WinPath,
    _held: pins::PinGuard,
}

impl Reserved {
    /// Makes the entry. The caller holds the tree's lock.
    pub(super) fn make(tree: &FileTree, path: &WinPath, kind: LinkKind) -> Result<Self, Cause> {
        let place = tree.vacant(path)?;
        let made = match kind {
            LinkKind::Directory => fs::create_dir(&place.host),
            LinkKind::File => fs::write(&place.host, b""),
        };
        made.map_err(|error| host::cause(&error))?;
        let tree = tree.clone();
        let at = Mutex::new(At::of(&tree, place));
        Ok(Self { tree, kind, at })
    }

    fn set(&self, place: &Destination, target: &str) -> Result<(), Cause> {
        match place.found()? {
            Node::Directory { .. } if !host::list(&place.host)?.is_empty() => {
                return Err(Win32::DIR_NOT_EMPTY.into());
            }
            Node::Reparse(point) if point.tag() != ReparseTag::SYMLINK => {
                return Err(Win32::REPARSE_TAG_MISMATCH.into());
            }
            _ => {}
        }
        let point = ReparsePoint::symlink(target, self.kind)?;
        if self.kind == LinkKind::Directory {
            return self.tree.rewrite(place, &point);
        }
        // On the host a link is a directory, which takes no file's place.
        fs::remove_file(&place.host).map_err(|error| host::cause(&error))?;
        self.tree.plant(place, &point)
    }

    fn at(&self) -> MutexGuard<'_, At> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl At {
    fn of(tree: &FileTree, place: Destination) -> Self {
        Self {
            path: place.path,
            _held: Pins::hold(&tree.pins, place.host),
        }
    }
}

impl Placeholder for Reserved {
    fn become_symlink(&self, target: &str) -> os::Result<()> {
        let path = self.at().path.clone();
        self.tree.change("FSCTL_SET_REPARSE_POINT", &path, || {
            let place = self.tree.walk(&path, Final::Itself)?;
            self.set(&place, target)
        })
    }

    fn rename(&self, name: &Component) -> os::Result<()> {
        let mut at = self.at();
        let directory = at.path.parent().unwrap_or_else(|| at.path.prefix(0));
        let new = directory.join(name.clone());
        let moved = self.tree.change("NtSetInformationFile", &new, || {
            let from = self.tree.walk(&at.path, Final::Itself)?;
            let to = self.tree.vacant(&new)?;
            fs::rename(&from.host, &to.host).map_err(|error| host::cause(&error))?;
            Ok(to)
        });
        *at = At::of(&self.tree, moved?);
        Ok(())
    }
}
