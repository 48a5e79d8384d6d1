//! Files, directories and links.

mod error;
mod look;
mod make;
mod remove;

use std::sync::Arc;

use os::{Deadline, Entry, Files, LinkKind, Root, Space, Win32, WinPath};

pub use self::error::FilesystemError;
pub use self::look::{EntryKind, LeadsTo, Link, LinkForm, LinkTarget, ListedEntry, Listing, Look};
use self::make::Making;
use self::remove::Walk;
use crate::link::{self, Leads};
use crate::locks::Key;
use crate::new_link::NewLink;
use crate::volumes::stale;
use crate::{AllowedRoots, Filesystem, LookupPath, ResolvedPath, leftover, smb};

#[allow(missing_docs, reason = "documented in `api::Filesystem`")]
impl<'a> Filesystem<'a> {
    pub fn path_exists(
        &self,
        at: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<bool, FilesystemError> {
        let resolved = at.into();
        self.node.check(deadline, "look at", resolved.asked())?;
        match self.entry(&resolved) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(source) => Err(FilesystemError::inspect(resolved.asked())(source)),
        }
    }

    pub fn make_directory(
        &self,
        at: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let resolved = at.into();
        let keys = [Key::target(&resolved)];
        let _held = self.node.lock("mkdir", keys, deadline)?;
        let (node, resolved) = (self.node, &resolved);
        Making {
            node,
            resolved,
            deadline,
        }
        .run()
    }

    /// [`Filesystem::make_directory`] for a driver: a mounted folder whose volume is gone is success as well.
    pub(crate) fn make_directory_or_stale(
        &self,
        at: &WinPath,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        match self.make_directory(at, deadline) {
            Err(_) if matches!(stale::gone(self.node.os(), at), Ok(Some(_))) => Ok(()),
            made => made,
        }
    }

    pub fn remove_entry(
        &self,
        at: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let resolved = at.into();
        let path = resolved.path();
        let keys = [Key::target(&resolved)];
        let _held = self.node.lock("remove", keys, deadline)?;
        let failed = || FilesystemError::remove(resolved.asked(), resolved.asked());
        let pins = resolved.hold(self.files()).map_err(failed())?;
        leftover::sweep_beside(self.files(), &resolved, &pins);
        let removed = match (pins.last(), path.name()) {
            (Some(directory), Some(name)) => remove::in_held(self.files(), directory, name, path),
            _ => remove::look_and_remove(self.files(), path),
        };
        removed.map_err(failed())
    }

    pub fn remove_tree(
        &self,
        at: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let resolved = at.into();
        let keys = [Key::subtree(&resolved)];
        let _held = self.node.lock("remove", keys, deadline)?;
        let pins = match resolved.hold(self.files()) {
            Err(error) if error.is_not_found() => return Ok(()),
            held => held.map_err(FilesystemError::remove(resolved.asked(), resolved.asked()))?,
        };
        leftover::sweep_beside(self.files(), &resolved, &pins);
        let removed = Walk::new(self.node, &resolved, pins, deadline).remove();
        removed.inspect_err(FilesystemError::log_entry)
    }

    pub fn remove_contents(
        &self,
        at: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let resolved = at.into();
        let keys = [Key::subtree(&resolved)];
        let _held = self.node.lock("remove contents of", keys, deadline)?;
        let failed = || FilesystemError::remove(resolved.asked(), resolved.asked());
        let pins = resolved.hold(self.files()).map_err(failed())?;
        let entry = self.files().entry(resolved.path()).map_err(failed())?;
        if let Some(tag) = entry.tag {
            let path = resolved.asked().to_string();
            return Err(FilesystemError::NotEntered { path, tag });
        }
        let cleared = Walk::new(self.node, &resolved, pins, deadline).clear(entry);
        cleared.inspect_err(FilesystemError::log_entry)
    }

    pub fn create_symlink(
        &self,
        source: impl Into<ResolvedPath>,
        link: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let (source, link) = (source.into(), link.into());
        let _held = self.node.lock("symlink", [Key::target(&link)], deadline)?;
        let target = source.asked();
        let kind = match source.leads_to_directory(self.node.os())? {
            Ok(true) => LinkKind::Directory,
            Ok(false) => LinkKind::File,
            Err(error) if error.is_not_found() => LinkKind::File,
            Err(error) => return Err(FilesystemError::inspect(target)(error)),
        };
        self.link(&link, target, kind, &target.to_string())
    }

    pub fn link_directory(
        &self,
        to: &WinPath,
        at: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let at = at.into();
        let _held = self.node.lock("link", [Key::target(&at)], deadline)?;
        self.link(&at, to, LinkKind::Directory, &link::text_to(to))
    }

    fn link(
        &self,
        at: &ResolvedPath,
        target: &WinPath,
        kind: LinkKind,
        text: &str,
    ) -> Result<(), FilesystemError> {
        let new = NewLink {
            node: self.node,
            resolved: at,
            target,
            kind,
        };
        let made = new.place().and_then(|place| new.make(place, text));
        made.map_err(|source| FilesystemError::CreateLink {
            link: at.asked().to_string(),
            target: target.to_string(),
            source,
        })
    }

    pub fn space(&self, directory: &WinPath, deadline: Deadline) -> Result<Space, FilesystemError> {
        self.node.check(deadline, "look at", directory)?;
        let space = self.node.os().volumes.space_at(directory);
        space.map_err(FilesystemError::inspect(directory))
    }

    /// Removes, within bounds, the leftovers of links that were being made when a process died, as far as they are
    /// noted ([`Server::notes`](crate::Server)). A failed removal is logged.
    pub fn clear_noted(&self, allowed: &Arc<AllowedRoots>) {
        if let Some(notes) = &self.node.state.notes {
            notes.clear(self.node.os(), allowed);
        }
    }

    /// Of a confined way, what the link leads to is only looked at within bounds, of one that was resolved for a look
    /// on the node's own drives and volumes.
    pub fn is_symlink(
        &self,
        at: impl Into<LookupPath>,
        deadline: Deadline,
    ) -> Result<bool, FilesystemError> {
        let at = at.into();
        let resolved = at.resolved();
        let path = resolved.path();
        self.node.check(deadline, "look at", resolved.asked())?;
        let inspect = |source| FilesystemError::inspect(resolved.asked())(source);
        let entry = self.entry(resolved).map_err(inspect)?;
        let there = match link::leads(self.files(), path, &entry).map_err(inspect)? {
            Leads::Nowhere => return Ok(false),
            Leads::To(target) if is_on_share(&target) => {
                return smb::is_mapped(self.node, &target, deadline).map_err(inspect);
            }
            Leads::To(target) => resolved.next(self.node.os(), &target)?.path().clone(),
            Leads::ToVolume(volume) => WinPath::of_root(Root::Volume(volume)),
        };
        self.is_there(&there).map_err(inspect)
    }

    /// The entry, unless it is what is left of a link: that is nobody's.
    fn entry(&self, resolved: &ResolvedPath) -> os::Result<Entry> {
        let path = resolved.path();
        let entry = self.files().entry(path)?;
        match (path.parent(), path.name()) {
            (Some(above), Some(name)) if leftover::is_left(self.files(), &above, name, &entry) => {
                let gone = Win32::FILE_NOT_FOUND;
                Err(os::Error::new("GetFileAttributesExW", path, gone))
            }
            _ => Ok(entry),
        }
    }

    /// Whether a link's target exists; a volume whose disk is gone does not.
    fn is_there(&self, target: &WinPath) -> os::Result<bool> {
        match self.files().entry(target) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() || link::is_device_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn files(&self) -> &'a dyn Files {
        &*self.node.os().files
    }
}

fn is_on_share(path: &WinPath) -> bool {
    matches!(path.root(), Root::Share { .. })
}
