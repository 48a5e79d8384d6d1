use os::{Deadline, Space, WinPath};

use super::Result;
use super::operations::operations;
use super::sealed::Sealed;
use crate::{LinkTarget, Listing, Look, Node};

operations! {
by deadline;

/// The operations on files, directories and links.
pub trait Filesystem {
    /// Whether an entry of this name exists; a dangling link counts.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach); never [`NotFound`](super::Condition::NotFound).
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool>
        = filesystem.path_exists, "look at", path;

    /// Creates a directory and its parents; an existing one, or a link to one, is success. So is a mounted folder whose
    /// volume is gone, which [`Volumes::mount`](super::Volumes::mount) replaces, with
    /// [`Feature::StaleMounts`](super::Feature::StaleMounts).
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists) if something other than a directory has the
    /// name; [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach),
    /// [`DanglingLink`](super::Condition::DanglingLink).
    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.make_directory_or_stale, "mkdir", path;

    /// Removes one entry: a file, an empty directory, or a link, junction or mounted folder, whose target stays
    /// untouched.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotEmpty`](super::Condition::NotEmpty),
    /// [`InUse`](super::Condition::InUse), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.remove_entry, "remove", path;

    /// Removes an entry and, if it is a plain directory, everything in it. A missing entry is success. No reparse point
    /// is entered, the path itself included: links, junctions and mounted folders go as entries, and what they lead to
    /// stays.
    ///
    /// # Errors
    /// [`InUse`](super::Condition::InUse), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach). Entries
    /// removed before the failure stay removed.
    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.remove_tree, "remove tree", path;

    /// Empties a plain directory, as [`Filesystem::remove_tree`] does, and keeps it.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`InUse`](super::Condition::InUse),
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach). Entries removed before the failure stay removed.
    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.remove_contents, "empty", path;

    /// Creates a symbolic link at `link` that leads to `source`, as it is written: a directory link if `source` leads
    /// to a directory now, otherwise a file link. A link that leads there already is success; a file link gives way, as
    /// by [`Filesystem::link_directory`], if `source` leads to a directory now.
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists); from an older csi-proxy also for a link that
    /// leads there already. [`NotFound`](super::Condition::NotFound) if the folder of the link is missing;
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach).
    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.create_symlink, "symlink", link;

    /// Creates a directory link (`SYMBOLIC_LINK_FLAG_DIRECTORY`) at `at` that leads to `to`. The target is not read, so
    /// it may be missing, or a share that is not mapped yet. A directory link that leads there already is success. A
    /// file link that leads there is replaced, as Windows opens no directory through one since version 1803
    /// (git-for-windows/git#1646); [`Filesystem::create_symlink`] makes such file links if the target is missing. Cut
    /// off in between, the name may be free; a repeated call makes the link.
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists) for any other entry, also a link that leads elsewhere;
    /// [`NotFound`](super::Condition::NotFound) if the folder of the link is missing;
    /// [`AccessDenied`](super::Condition::AccessDenied), [`OutOfReach`](super::Condition::OutOfReach).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::DirectoryLinks`](super::Feature::DirectoryLinks).
    fn link_directory(&self, to: &WinPath, at: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.link_directory, "link", at;

    /// Whether the entry is a symbolic link, junction or mounted folder with an existing target. A link to a share
    /// counts as long as the node has a mapping of it: the share is not looked at.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool>
        = filesystem.is_symlink, "look at", path;

    /// The kind of entry at a path, and the target of a link: followed hop by hop, but onto no share, whose mapping
    /// counts instead. The path itself is read wherever it lies. The directories on a link's way are held during the
    /// read, so that nobody can rename or remove them and none of them leads elsewhere. The caller must trust the path.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied), [`OutOfReach`](super::Condition::OutOfReach),
    /// [`NotAnswering`](super::Condition::NotAnswering); never [`NotFound`](super::Condition::NotFound), which is
    /// [`Look::Missing`]. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn look(&self, path: &WinPath, deadline: Deadline) -> Result<Look>
        = filesystem.look, "look at", path;

    /// The stored target of a link, a junction or a mounted folder, at which nothing is looked; `None` for another
    /// entry.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn read_link(&self, path: &WinPath, deadline: Deadline) -> Result<Option<LinkTarget>>
        = filesystem.read_link, "read link", path;

    /// The entries of a directory, at most `most`; a link at the end of the path is followed. Processes that may write
    /// there chose the names, and may have replaced the entries since; a name must not go into an error or a log line
    /// unescaped. What links left that were being made when a process died is not among them.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`Crowded`](super::Condition::Crowded) while others list or change the path.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn list(&self, directory: &WinPath, most: usize, deadline: Deadline) -> Result<Listing>
        = filesystem.list, "list", directory;

    /// Size and free space of the filesystem under a directory, in bytes; links and mounted folders are followed, onto
    /// shares as well. A share that does not answer keeps its thread for as long as Windows waits for it, and eight
    /// threads at most for each path. [`Volumes::stats`](super::Volumes::stats) reports those of a volume.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`DeviceFailed`](super::Condition::DeviceFailed), [`ServerNotFound`](super::Condition::ServerNotFound),
    /// [`NotMapped`](super::Condition::NotMapped); [`NotAnswering`](super::Condition::NotAnswering) for a share on
    /// which an earlier call hangs. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SpaceByPath`](super::Feature::SpaceByPath).
    fn space(&self, directory: &WinPath, deadline: Deadline) -> Result<Space>
        = filesystem.space, "look at", directory;
}
}
