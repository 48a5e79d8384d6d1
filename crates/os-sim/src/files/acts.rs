//! The effect of each call. The caller holds the lock.

use std::fs;
use std::path::PathBuf;

use os::{
    Cause, DirEntry, Entry, FileAttributes, LinkKind, Pin, ReparseTag, Root, VolumeId, Win32,
    WinPath,
};

use super::held::HeldDirectory;
use super::host::{self, Node};
use super::marker::{self, ReparsePoint};
use super::walk::{Destination, Final};
use super::{FileTree, names, rights, sys};

impl FileTree {
    pub(super) fn mount(&self, folder: &WinPath, volume: VolumeId) -> Result<WinPath, Cause> {
        let place = self.writable(folder, Final::Itself)?;
        match place.found()? {
            Node::Directory { .. } => {}
            Node::File { .. } => return Err(Win32::DIRECTORY.into()),
            Node::Reparse(_) => return Err(Win32::DIR_NOT_EMPTY.into()),
        }
        if !host::list(&place.host)?.is_empty() {
            return Err(Win32::DIR_NOT_EMPTY.into());
        }
        self.pins.refuse(&place.host)?;
        self.rewrite(&place, &ReparsePoint::mounted_folder(volume)?)?;
        Ok(place.path)
    }

    pub(super) fn unmount(&self, folder: &WinPath) -> Result<(WinPath, VolumeId), Cause> {
        let (place, volume) = self.mounted(folder)?;
        self.refuse_read_only_root(place.path.root())?;
        marker::remove(&place.host)?;
        Ok((place.path, volume))
    }

    pub(super) fn take_mount_from(&self, folder: &WinPath, volume: VolumeId) -> Result<(), Cause> {
        let place = self.writable(folder, Final::Itself)?;
        match place.found()? {
            Node::Reparse(point) if point.volume() == Some(volume) => marker::remove(&place.host),
            Node::Reparse(_) => Err(Win32::REPARSE_TAG_MISMATCH.into()),
            _ => Err(Win32::NOT_A_REPARSE_POINT.into()),
        }
    }

    pub(super) fn mounted(&self, folder: &WinPath) -> Result<(Destination, VolumeId), Cause> {
        let place = self.walk(folder, Final::Itself)?;
        let Node::Reparse(point) = place.found()? else {
            return Err(Win32::NOT_A_REPARSE_POINT.into());
        };
        let volume = point.volume().ok_or(Win32::INVALID_PARAMETER)?;
        Ok((place, volume))
    }

    pub(super) fn entry_itself(&self, path: &WinPath) -> Result<Entry, Cause> {
        Ok(self.walk(path, Final::Itself)?.found()?.entry())
    }

    pub(super) fn raw_reparse_data(&self, path: &WinPath) -> Result<Vec<u8>, Cause> {
        match self.walk(path, Final::Itself)?.found()? {
            Node::Reparse(point) => Ok(point.data.clone()),
            _ => Err(Win32::NOT_A_REPARSE_POINT.into()),
        }
    }

    pub(super) fn listed(&self, directory: &WinPath) -> Result<Vec<DirEntry>, Cause> {
        let place = self.followed(directory)?;
        match place.node {
            None => Err(Win32::PATH_NOT_FOUND.into()),
            Some(Node::Directory { .. }) => host::list(&place.host),
            Some(_) => Err(Win32::DIRECTORY.into()),
        }
    }

    pub(super) fn root_of(&self, directory: &WinPath) -> Result<Root, Cause> {
        let place = self.followed(directory)?;
        match place.node {
            None => Err(Win32::PATH_NOT_FOUND.into()),
            Some(Node::Directory { .. }) => Ok(place.path.root().clone()),
            Some(_) => Err(Win32::DIRECTORY.into()),
        }
    }

    pub(super) fn pinned(&self, directory: &WinPath) -> Result<Pin, Cause> {
        self.pinned_at(self.walk(directory, Final::Itself)?)
    }

    pub(super) fn pinned_at(&self, place: Destination) -> Result<Pin, Cause> {
        match place.found()? {
            Node::Directory { .. } => Ok(Pin::holding(HeldDirectory::new(self, place))),
            _ => Err(Win32::DIRECTORY.into()),
        }
    }

    pub(super) fn make_directory(&self, path: &WinPath) -> Result<(), Cause> {
        let place = self.vacant(path)?;
        Ok(fs::create_dir(&place.host).map_err(|error| host::cause(&error))?)
    }

    /// Removes the entry; what a mounted folder led to comes back for the mount manager.
    pub(super) fn take_directory(
        &self,
        path: &WinPath,
    ) -> Result<Option<(WinPath, VolumeId)>, Cause> {
        let place = self.writable(path, Final::Itself)?;
        let node = place.found()?;
        if !node.entry().is_directory() {
            return Err(Win32::DIRECTORY.into());
        }
        if place.path.name().is_none() || node.is_read_only() {
            return Err(Win32::ACCESS_DENIED.into());
        }
        self.pins.refuse(&place.host)?;
        match node {
            Node::Reparse(point) => {
                marker::remove_whole(&place.host, &self.staging(&place.path)?)?;
                Ok(point.volume().map(|volume| (place.path.clone(), volume)))
            }
            _ => {
                rights::remove_directory(&place.host)?;
                Ok(None)
            }
        }
    }

    pub(super) fn take_file(&self, path: &WinPath) -> Result<(), Cause> {
        let place = self.writable(path, Final::Itself)?;
        let node = place.found()?;
        if node.entry().is_directory() || node.is_read_only() {
            return Err(Win32::ACCESS_DENIED.into());
        }
        self.pins.refuse(&place.host)?;
        match node {
            Node::Reparse(point) if point.is_marked() => {
                marker::remove_whole(&place.host, &self.staging(&place.path)?)
            }
            _ => Ok(fs::remove_file(&place.host).map_err(|error| host::cause(&error))?),
        }
    }

    /// Removes a symbolic link of this kind as an entry.
    pub(super) fn take_symlink(&self, path: &WinPath, kind: LinkKind) -> Result<(), Cause> {
        match self.walk(path, Final::Itself)?.found()? {
            Node::Reparse(point) if point.tag() == ReparseTag::SYMLINK && point.kind == kind => {}
            Node::Reparse(_) => return Err(Win32::REPARSE_TAG_MISMATCH.into()),
            _ => return Err(Win32::NOT_A_REPARSE_POINT.into()),
        }
        match kind {
            LinkKind::Directory => self.take_directory(path).map(drop),
            LinkKind::File => self.take_file(path),
        }
    }

    /// Removes the entry, whatever it is.
    pub(super) fn take_entry(&self, path: &WinPath) -> Result<Option<(WinPath, VolumeId)>, Cause> {
        let entry = self.entry_itself(path)?;
        if entry.attributes.contains(FileAttributes::READ_ONLY) {
            self.make_writable(path)?;
        }
        match entry.is_directory() {
            true => self.take_directory(path),
            false => self.take_file(path).map(|()| None),
        }
    }

    pub(super) fn make_writable(&self, path: &WinPath) -> Result<(), Cause> {
        let place = self.writable(path, Final::Itself)?;
        place.found()?;
        Ok(sys::set_read_only(&place.host, false).map_err(|error| host::cause(&error))?)
    }

    pub(super) fn make_symlink(
        &self,
        link: &WinPath,
        target: &str,
        kind: LinkKind,
    ) -> Result<(), Cause> {
        let place = self.vacant(link)?;
        self.plant(&place, &ReparsePoint::symlink(target, kind)?)
    }

    /// Puts a reparse point where nothing is.
    pub(super) fn plant(&self, place: &Destination, point: &ReparsePoint) -> Result<(), Cause> {
        let staging = self.staging(&place.path)?;
        marker::create(&place.host, &staging, point)
    }

    /// Makes a reparse point of an empty directory.
    pub(super) fn rewrite(&self, place: &Destination, point: &ReparsePoint) -> Result<(), Cause> {
        let staging = self.staging(&place.path)?;
        marker::write(&place.host, &staging, point)
    }

    /// The place of a path, on a root that takes writes.
    pub(super) fn writable(&self, path: &WinPath, last: Final) -> Result<Destination, Cause> {
        let place = self.walk(path, last)?;
        self.refuse_read_only_root(place.path.root())?;
        Ok(place)
    }

    /// The place of a path at which nothing is yet.
    pub(super) fn vacant(&self, path: &WinPath) -> Result<Destination, Cause> {
        let place = self.walk(path, Final::Itself)?;
        if place.node.is_some() {
            return Err(Win32::ALREADY_EXISTS.into());
        }
        self.refuse_read_only_root(place.path.root())?;
        Ok(place)
    }

    fn refuse_read_only_root(&self, root: &Root) -> Result<(), Cause> {
        if self.roots.is_read_only(root) {
            return Err(Win32::WRITE_PROTECT.into());
        }
        Ok(())
    }

    pub(super) fn staging(&self, path: &WinPath) -> Result<PathBuf, Cause> {
        let folder = self.folder(path.root())?;
        names::staging(&folder).map_err(|error| host::cause(&error).into())
    }

    pub(super) fn folder(&self, root: &Root) -> Result<PathBuf, Cause> {
        let folder = self.roots.folder(root).map_err(|error| error.cause)?;
        Ok(names::unlimited(folder))
    }
}
