//! What a controller does on a share.

mod remote;
mod steps;

use std::fmt;
use std::time::Instant;

pub use self::remote::RemoteShare;
use crate::error::Result;
use crate::name::{Name, SharePath};
use crate::wire::create::Handle;

/// The longest file that is written or read, in bytes: what one message carries.
pub const LONGEST_FILE: u64 = 65_536;

/// The operations, each bounded by a deadline. Paths are opened without following a link at their end; a link on
/// their way is the server's affair, so a caller compares ids.
pub trait Share {
    /// What a path names.
    ///
    /// # Errors
    /// `NotFound`, and those of any operation.
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<Entry>;

    /// The ids of folders, and of those above them, in one message each.
    ///
    /// # Errors
    /// Of each folder `NotAFolder`, `Link`; of all a failure that ends the connection.
    fn look(&mut self, folders: &[SharePath], by: Instant) -> Result<Vec<Result<FolderIds>>>;

    /// Up to `limit` entries of a folder, in the server's order. Each call begins at the first one; it asks for one page
    /// after the other, so that only what it returns takes memory.
    ///
    /// # Errors
    /// `NotAFolder`, `Link`; `Name` for an entry whose name cannot be used.
    fn list(&mut self, folder: &SharePath, limit: usize, by: Instant) -> Result<Listing> {
        self.list_ending(folder, "", limit, by)
    }

    /// The same, of those alone whose names end so; then `above` is not told.
    ///
    /// # Errors
    /// Those of `list`.
    fn list_ending(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        by: Instant,
    ) -> Result<Listing>;

    /// Makes one folder, and returns its id.
    ///
    /// # Errors
    /// `Exists`; `NotFound` if the folder above is missing.
    fn make_folder(
        &mut self,
        path: &SharePath,
        visibility: Visibility,
        by: Instant,
    ) -> Result<FileId>;

    /// Makes a file with this content, of [`LONGEST_FILE`] bytes at most, flushed to the server's disk. It stays open
    /// until [`place`](Self::place) or [`discard`](Self::discard). After a failure a part of it may be there.
    ///
    /// # Errors
    /// `Exists`, `Limit`.
    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<OpenFile>;

    /// Moves a file that was made to another path, where it replaces a file, and closes it, after a failure too. Returns
    /// when it has changed, as [`Entry::changed`]; 0 if the server does not tell.
    ///
    /// # Errors
    /// `Denied` or `InUse` for a file there that other clients have open.
    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<u64>;

    /// Removes what is open: a file, or an empty folder.
    ///
    /// # Errors
    /// `NotEmpty`.
    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()>;

    /// The content of a file of [`LONGEST_FILE`] bytes at most.
    ///
    /// # Errors
    /// `Limit` for a longer file, `IsAFolder`, `Link`.
    fn read(&mut self, path: &SharePath, by: Instant) -> Result<Vec<u8>>;

    /// Closes what is open, which ends a lock.
    ///
    /// # Errors
    /// Those of any operation.
    fn close(&mut self, file: OpenFile, by: Instant) -> Result<()>;

    /// Moves a file or folder that must have this id, and keeps it open.
    ///
    /// # Errors
    /// `Changed` for another id, `Exists`, `Denied` or `InUse` for what other clients have open.
    fn take(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        existing: Existing,
        by: Instant,
    ) -> Result<OpenFile>;

    /// Moves a file or folder that must have this id.
    ///
    /// # Errors
    /// Those of `take`.
    fn rename(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        existing: Existing,
        by: Instant,
    ) -> Result<()> {
        let moved = self.take(from, id, to, existing, by)?;
        self.close(moved, by)
    }

    /// Leaves nothing at a path: removes a file or an empty folder there, without asking for its id first.
    ///
    /// # Errors
    /// `NotEmpty`, `InUse`; `Denied` for a read-only file.
    fn clear(&mut self, path: &SharePath, by: Instant) -> Result<()>;

    /// Removes a file, a link or an empty folder that must have this id, read-only ones too.
    ///
    /// # Errors
    /// `Changed` for another id, `NotEmpty`, `InUse`.
    fn remove(&mut self, path: &SharePath, id: FileId, by: Instant) -> Result<()> {
        self.remove_each(&[(path.clone(), id)], by)
    }

    /// Removes several, each as [`remove`](Self::remove) does, and returns the first failure: others may be gone then, in
    /// any order.
    ///
    /// # Errors
    /// Those of `remove`.
    fn remove_each(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()>;

    /// Makes or opens a file that no other client can open until [`close`](Self::close) or the end of this
    /// connection, which removes it too. If this client's machine vanishes, that is when the server notices.
    ///
    /// # Errors
    /// `InUse` while another has the lock; `Exists` for a file with content, which stays.
    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile>;
}

/// The server's number of a file or folder: unique in its file system while the file exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The last part of its path; the root of a share has none.
    pub name: Option<Name>,
    /// Its number.
    pub id: FileId,
    /// File, folder or link.
    pub kind: Kind,
    /// Its length in bytes, of a file.
    pub size: u64,
    /// When its content or attributes changed, in units of 100 ns since 1601 by the server's clock.
    pub changed: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data.
    File,
    /// Entries. Samba shows a symbolic link to a folder so too.
    Folder,
    /// A reparse point of any tag.
    Link,
}

/// Which folder a path leads to, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderIds {
    /// Its own id.
    pub id: FileId,
    /// The id of the folder above, as its `..` has it; `None` for a share's own folder, and if the server lists none.
    pub above: Option<FileId>,
}

/// The first entries of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The id of the folder itself.
    pub id: FileId,
    /// The id of the folder above, as its `..` has it; `None` if the server lists none.
    pub above: Option<FileId>,
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether the folder may have more.
    pub has_more: bool,
}

/// What a rename of a file does with a file at the new path. A folder never replaces, nor is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the rename fails.
    Refuse,
    /// Its place is taken.
    Replace,
}

/// Whether Windows's programs show a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// They do.
    Shown,
    /// They do not, unless told to.
    Hidden,
}

/// What was made, moved or locked, and is still open. Dropped, it stays open until the connection ends.
#[must_use = "what is dropped stays open until the connection ends"]
#[derive(Debug)]
pub struct OpenFile {
    /// Where it is.
    pub path: SharePath,
    handle: Handle,
    /// Its number.
    pub id: FileId,
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
