use os::{Deadline, Space, WinPath};

use super::Result;
#[allow(unused_imports, reason = "the pages link to them")]
use super::links::*;
use super::operations::operations;
use crate::{LinkTarget, Listing, Look};

operations! {
by deadline;

/// The operations on files, directories and links.
pub trait Filesystem {
    /// Whether an entry of this name exists; a dangling link counts.
    ///
    /// # Errors
    /// [`AccessDenied`], [`PathRefused`], [`OutOfReach`]; never [`NotFound`].
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool>
        = filesystem.path_exists, "look at", path;

    /// Creates a directory and its parents; an existing one, or a link to one, is success. So is a mounted folder whose
    /// volume is gone, which [`Volumes::mount`] replaces, with [`Feature::StaleMounts`].
    ///
    /// # Errors
    /// [`AlreadyExists`] if something other than a directory has the name; [`AccessDenied`], [`PathRefused`],
    /// [`OutOfReach`], [`DanglingLink`].
    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.make_directory_or_stale, "mkdir", path;

    /// Removes one entry: a file, an empty directory, or a link, junction or mounted folder, whose target stays
    /// untouched.
    ///
    /// # Errors
    /// [`NotFound`], [`NotEmpty`], [`InUse`], [`AccessDenied`], [`PathRefused`], [`OutOfReach`].
    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.remove_entry, "remove", path;

    /// Removes an entry and, if it is a plain directory, everything in it. A missing entry is success. No reparse point
    /// is entered, the path itself included: links, junctions and mounted folders go as entries, and what they lead to
    /// stays.
    ///
    /// # Errors
    /// [`InUse`], [`AccessDenied`], [`PathRefused`], [`OutOfReach`]. Entries removed before the failure stay removed.
    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.remove_tree, "remove tree", path;

    /// Empties a plain directory, as [`Filesystem::remove_tree`] does, and keeps it.
    ///
    /// # Errors
    /// [`NotFound`], [`InUse`], [`AccessDenied`], [`PathRefused`], [`OutOfReach`]. Entries removed before the failure
    /// stay removed.
    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.remove_contents, "empty", path;

    /// Creates a symbolic link at `link` that leads to `source`, as it is written: a directory link if `source` leads
    /// to a directory now, otherwise a file link. A link that leads there already is success; a file link gives way, as
    /// by [`Filesystem::link_directory`], if `source` leads to a directory now.
    ///
    /// # Errors
    /// [`AlreadyExists`]; from an older csi-proxy also for a link that leads there already. [`NotFound`] if the folder
    /// of the link is missing; [`AccessDenied`], [`PathRefused`], [`OutOfReach`].
    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.create_symlink, "symlink", link;

    /// Creates a directory link (`SYMBOLIC_LINK_FLAG_DIRECTORY`) at `at` that leads to `to`. The target is not read, so
    /// it may be missing, or a share that is not mapped yet. A directory link that leads there already is success. A
    /// file link that leads there is replaced, as Windows opens no directory through one since version 1803
    /// (git-for-windows/git#1646); [`Filesystem::create_symlink`] makes such file links if the target is missing. Cut
    /// off in between, the name may be free; a repeated call makes the link.
    ///
    /// # Errors
    /// [`AlreadyExists`] for any other entry, also a link that leads elsewhere; [`NotFound`] if the folder of the link
    /// is missing; [`AccessDenied`], [`OutOfReach`]. [`Cause::Unsupported`] without [`Feature::DirectoryLinks`].
    fn link_directory(&self, to: &WinPath, at: &WinPath, deadline: Deadline) -> Result<()>
        = filesystem.link_directory, "link", at;

    /// Whether the entry is a symbolic link, junction or mounted folder with an existing target. A link to a share
    /// counts as long as the node has a mapping of it: the share is not looked at.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`], [`PathRefused`], [`OutOfReach`].
    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool>
        = filesystem.is_symlink, "look at", path;

    /// The kind of entry at a path, and the target of a link: followed hop by hop, but onto no share, whose mapping
    /// counts instead. The path itself is read wherever it lies. The directories on a link's way are held during the
    /// read, so that nobody can rename or remove them and none of them leads elsewhere. The caller must trust the path.
    ///
    /// # Errors
    /// [`AccessDenied`], [`OutOfReach`], [`NotAnswering`]; never [`NotFound`], which is [`Look::Missing`].
    /// [`Cause::Unsupported`] without [`Feature::EntryLooks`].
    fn look(&self, path: &WinPath, deadline: Deadline) -> Result<Look>
        = filesystem.look, "look at", path;

    /// The stored target of a link, a junction or a mounted folder, at which nothing is looked; `None` for another
    /// entry.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`], [`NotAnswering`]. [`Cause::Unsupported`] without [`Feature::EntryLooks`].
    fn read_link(&self, path: &WinPath, deadline: Deadline) -> Result<Option<LinkTarget>>
        = filesystem.read_link, "read link", path;

    /// The entries of a directory, at most `most`; a link at the end of the path is followed. Processes that may write
    /// there chose the names, and may have replaced the entries since; a name must not go into an error or a log line
    /// unescaped. What links left that were being made when a process died is not among them.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`]; [`Crowded`] while others list or change the path. [`Cause::Unsupported`] without
    /// [`Feature::EntryLooks`].
    fn list(&self, directory: &WinPath, most: usize, deadline: Deadline) -> Result<Listing>
        = filesystem.list, "list", directory;

    /// Size and free space of the filesystem under a directory, in bytes; links and mounted folders are followed, onto
    /// shares as well. A share that does not answer keeps its thread for as long as Windows waits for it, and eight
    /// threads at most for each path. [`Volumes::stats`] reports those of a volume.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`], [`DeviceFailed`], [`ServerNotFound`], [`NotMapped`]; [`NotAnswering`] for a
    /// share on which an earlier call hangs. [`Cause::Unsupported`] without [`Feature::SpaceByPath`].
    fn space(&self, directory: &WinPath, deadline: Deadline) -> Result<Space>
        = filesystem.space, "look at", directory;
}
}
