//! The kinds of entries, and the targets of links.

use os::{
    Cause, Component, Deadline, DirEntry, Entry, Files, LinkKind, ReparseTag, Root, VolumeId,
    WinPath,
};

use super::{Filesystem, FilesystemError, is_on_share};
use crate::link::{self, Leads};
use crate::locks::Key;
use crate::resolved_path::end::{self, End};
use crate::{Node, ResolveError, ResolvedPath, leftover, smb};

/// The entry at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Look {
    /// Nothing.
    Missing,
    /// A file.
    File {
        /// Its length in bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A folder at which a volume is mounted.
    MountedFolder {
        /// The volume, by the mount manager's name; by the folder's own where the volume is gone.
        volume: VolumeId,
        /// Whether the volume is there. One whose disk is offline is not.
        is_there: bool,
    },
    /// A symbolic link or a junction.
    Link(Link),
    /// A reparse point of another kind: deduplicated, in a cloud, a socket.
    Other {
        /// Its tag.
        tag: ReparseTag,
    },
}

/// A symbolic link or a junction, which tells where it leads, and where that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kind of link.
    pub form: LinkForm,
    /// Where it leads by its own word.
    pub target: LinkTarget,
    /// The entry at its target.
    pub leads: LeadsTo,
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkForm {
    /// A symbolic link to a directory (attributes 0x410).
    Directory,
    /// A symbolic link to a file (attributes 0x400). Where it leads to a directory, Windows opens nothing through
    /// it: [`Filesystem::link_directory`](crate::api::Filesystem::link_directory) mends that.
    File,
    /// A junction.
    Junction,
}

/// Where a link leads, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkTarget {
    /// To a path; that of a relative link begins where the link lies.
    Path(WinPath),
    /// To a volume as such.
    Volume(VolumeId),
    /// Its word is none that this library reads, such as a device of the kernel.
    NoPath,
}

/// The entry at a link's target, all further links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeadsTo {
    /// A directory.
    Directory,
    /// A file, or another thing that is no directory.
    File,
    /// Nothing: the link dangles, or its links have no end.
    Nothing,
    /// A drive that the mount manager does not know: one of the network, or of `subst`. Nobody looked there.
    OtherDrive,
    /// A share; nothing was read there.
    Share {
        /// Whether the node has a mapping of it, or of a folder on the way.
        is_mapped: bool,
    },
}

/// The entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// At most as many as were asked for, in no particular order.
    pub entries: Vec<ListedEntry>,
    /// Whether these are all.
    pub is_whole: bool,
}

/// One entry of a directory. A process that may write there chose its name, and may have replaced it since it
/// was listed: [`Filesystem::look`](crate::api::Filesystem::look) tells what it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// Its name.
    pub name: Component,
    /// The kind that it had.
    pub kind: EntryKind,
}

/// The kind of an entry, as far as a list shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file.
    File {
        /// Its length in bytes.
        size: u64,
    },
    /// A mounted folder or a junction, which have one tag.
    MountPoint,
    /// A symbolic link of this kind.
    Symlink(LinkKind),
    /// A reparse point of another kind.
    Other {
        /// Its tag.
        tag: ReparseTag,
    },
}

#[allow(missing_docs, reason = "documented in `api::Filesystem`")]
impl Filesystem<'_> {
    pub fn look(&self, path: &WinPath, deadline: Deadline) -> Result<Look, FilesystemError> {
        self.node.check(deadline, "look at", path)?;
        let looking = Looking {
            node: self.node,
            path,
            deadline,
        };
        looking.look(&ResolvedPath::from(path), self)
    }

    pub fn read_link(
        &self,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<Option<LinkTarget>, FilesystemError> {
        self.node.check(deadline, "look at", path)?;
        let leads = self
            .entry(&ResolvedPath::from(path))
            .and_then(|entry| link::leads(self.files(), path, &entry));
        let leads = match leads {
            Err(error) if matches!(error.cause, Cause::Malformed(_)) => {
                return Ok(Some(LinkTarget::NoPath));
            }
            leads => leads.map_err(FilesystemError::inspect(path))?,
        };
        Ok(match leads {
            Leads::Nowhere => None,
            Leads::To(target) => Some(LinkTarget::Path(target)),
            Leads::ToVolume(volume) => Some(LinkTarget::Volume(volume)),
        })
    }

    pub fn list(
        &self,
        directory: &WinPath,
        most: usize,
        deadline: Deadline,
    ) -> Result<Listing, FilesystemError> {
        let key = Key::target(&ResolvedPath::from(directory));
        let _held = self.node.lock("list", [key], deadline)?;
        let mut asked = most.saturating_add(1);
        loop {
            self.node.check(deadline, "list", directory)?;
            let listed = self.files().list_some(directory, asked);
            let listed = listed.map_err(FilesystemError::inspect(directory))?;
            let is_end = listed.len() < asked;
            let mut entries = self.shown(directory, listed, most.saturating_add(1))?;
            let is_whole = is_end && entries.len() <= most;
            if is_whole || entries.len() > most {
                entries.truncate(most);
                return Ok(Listing { entries, is_whole });
            }
            // Leftovers of links take the place of other entries.
            asked = asked.saturating_mul(2);
        }
    }

    /// So many of the entries, without what is left of links.
    fn shown(
        &self,
        directory: &WinPath,
        listed: Vec<DirEntry>,
        most: usize,
    ) -> Result<Vec<ListedEntry>, FilesystemError> {
        let mut shown = Vec::new();
        for found in listed {
            if shown.len() >= most {
                break;
            }
            let entry = found.entry;
            let listed = ListedEntry::read(found).map_err(|cause| {
                let error = os::Error::new("FindNextFileW", directory, cause);
                FilesystemError::inspect(directory)(error)
            })?;
            if !leftover::is_left(self.files(), directory, &listed.name, &entry) {
                shown.push(listed);
            }
        }
        Ok(shown)
    }
}

/// One look.
struct Looking<'a> {
    node: &'a Node,
    path: &'a WinPath,
    deadline: Deadline,
}

impl Looking<'_> {
    fn look(
        &self,
        resolved: &ResolvedPath,
        filesystem: &Filesystem<'_>,
    ) -> Result<Look, FilesystemError> {
        let entry = match filesystem.entry(resolved) {
            Err(error) if error.is_not_found() => return Ok(Look::Missing),
            entry => entry.map_err(self.failed())?,
        };
        let leads = link::leads(self.files(), self.path, &entry).map_err(self.failed())?;
        Ok(match (leads, entry.tag) {
            (Leads::ToVolume(stored), Some(ReparseTag::MOUNT_POINT)) => self.mounted(stored)?,
            (Leads::ToVolume(volume), _) => Look::Link(Link {
                form: form(&entry),
                target: LinkTarget::Volume(volume),
                leads: self.root(volume)?,
            }),
            (Leads::To(target), _) => Look::Link(Link {
                form: form(&entry),
                leads: self.behind()?,
                target: LinkTarget::Path(target),
            }),
            (Leads::Nowhere, Some(tag)) => Look::Other { tag },
            (Leads::Nowhere, None) if entry.is_directory() => Look::Directory,
            (Leads::Nowhere, None) => Look::File { size: entry.size },
        })
    }

    fn mounted(&self, stored: VolumeId) -> Result<Look, FilesystemError> {
        let (volume, is_there) = match self.node.os().volumes.mounted_at(self.path) {
            Err(error) if is_gone(&error) => (stored, false),
            volume => (volume.map_err(self.failed())?, true),
        };
        Ok(Look::MountedFolder { volume, is_there })
    }

    /// From the path that was asked for on, so that no error has a link's own word.
    fn behind(&self) -> Result<LeadsTo, FilesystemError> {
        match end::resolve_end(self.node.os(), self.path) {
            Ok(End::Entry(entry)) => Ok(LeadsTo::of(&entry)),
            Ok(End::Nothing) => Ok(LeadsTo::Nothing),
            Ok(End::Elsewhere(at)) if is_on_share(&at) => {
                let is_mapped = smb::is_mapped(self.node, &at, self.deadline);
                let is_mapped = is_mapped.map_err(self.failed())?;
                Ok(LeadsTo::Share { is_mapped })
            }
            Ok(End::Elsewhere(_)) => Ok(LeadsTo::OtherDrive),
            Err(ResolveError::TooManyLinks { .. }) => Ok(LeadsTo::Nothing),
            Err(ResolveError::Unreadable { source, .. }) if is_gone(&source) => {
                Ok(LeadsTo::Nothing)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn root(&self, volume: VolumeId) -> Result<LeadsTo, FilesystemError> {
        match self.files().entry(&WinPath::of_root(Root::Volume(volume))) {
            Ok(entry) => Ok(LeadsTo::of(&entry)),
            Err(error) if is_gone(&error) => Ok(LeadsTo::Nothing),
            Err(error) => Err(self.failed()(error)),
        }
    }

    fn files(&self) -> &dyn Files {
        &*self.node.os().files
    }

    fn failed(&self) -> impl FnOnce(os::Error) -> FilesystemError {
        FilesystemError::inspect(self.path)
    }
}

impl LeadsTo {
    fn of(entry: &Entry) -> Self {
        match entry.is_directory() {
            true => Self::Directory,
            false => Self::File,
        }
    }
}

impl ListedEntry {
    fn read(found: DirEntry) -> Result<Self, Cause> {
        let kind = EntryKind::of(&found.entry);
        // The name is no error's.
        let name = Component::listed(found.name);
        let name = name.map_err(|_| Cause::Malformed("an entry has no name".to_owned()))?;
        Ok(Self { name, kind })
    }
}

impl EntryKind {
    fn of(entry: &Entry) -> Self {
        match entry.tag {
            Some(ReparseTag::MOUNT_POINT) => Self::MountPoint,
            Some(ReparseTag::SYMLINK) => Self::Symlink(link::kind(entry)),
            Some(tag) => Self::Other { tag },
            None if entry.is_directory() => Self::Directory,
            None => Self::File { size: entry.size },
        }
    }
}

fn form(entry: &Entry) -> LinkForm {
    match (entry.tag, link::kind(entry)) {
        (Some(ReparseTag::MOUNT_POINT), _) => LinkForm::Junction,
        (_, LinkKind::Directory) => LinkForm::Directory,
        (_, LinkKind::File) => LinkForm::File,
    }
}

fn is_gone(error: &os::Error) -> bool {
    error.is_not_found() || link::is_device_gone(error)
}
