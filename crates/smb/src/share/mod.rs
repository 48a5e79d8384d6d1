//! What a controller does on a share.

mod copying;
mod pages;
mod remote;
mod steps;

use std::time::Instant;

pub(crate) use self::copying::{Present, SMALL, Source, Version, Wanted};
pub(crate) use self::pages::Folder;
pub use self::remote::RemoteShare;
use crate::copy::{Copied, CopyOrder, Watch};
use crate::error::Result;
use crate::name::{Name, SharePath};
use crate::wire::create::Handle;

/// The longest file that is written or read, in bytes: what one message carries.
pub const LONGEST_FILE: u64 = 65_536;

/// The operations, each bounded by a deadline. Paths are opened without following a link at their end; a link on
/// their way is the server's affair, so a caller compares ids.
///
/// | operation | fails with, beside `NotFound`, `Denied` and what [ends a connection](crate::Failure::ends_connection) |
/// |---|---|
/// | `look`, `list` | `NotAFolder`, `Link`; `Name` for an entry whose name cannot be used |
/// | `make_folder`, `create`, `write_on` | `Exists`, `Full`; `Limit` for a content that is too long |
/// | `read`, `read_on` | `Limit` for a file that is too long, `IsAFolder`, `Link` |
/// | `place`, `take`, `rename` | `Denied` or `InUse` for what other clients have open; `Exists`, and `Changed` for another id |
/// | `clear`, `remove`, `discard` | `NotEmpty`, `InUse`; `Changed` for another id, `clear` with `Denied` for a read-only file |
/// | `lock`, `lock_beside` | `InUse` while another has the lock; `Exists` for a file with content, which stays |
/// | `beside` | `NoSuchShare`; `NotADisk`, which ends this connection too |
/// | `copy` | see [`CopyOrder`] |
pub trait Share {
    /// The id of what a path names.
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<FileId>;

    /// The ids of folders, and of those above them, in one message each: listings without entries. Above a share's own is none.
    fn look(&mut self, folders: &[SharePath], by: Instant) -> Result<Vec<Result<Listing>>>;

    /// Up to `limit` entries of a folder, in the server's order. Each call begins at the first one; it asks for one page
    /// after the other, so that only what it returns takes memory.
    fn list(&mut self, folder: &SharePath, limit: usize, by: Instant) -> Result<Listing> {
        Ok(self.list_ending(folder, "", limit, &[], by)?.0)
    }

    /// The same, of those alone whose names end so; then `above` is not told. Looks at other folders at the same time.
    fn list_ending(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        beside: &[SharePath],
        by: Instant,
    ) -> Result<(Listing, Vec<Result<Listing>>)>;

    /// Makes one folder, and returns its id.
    fn make_folder(&mut self, path: &SharePath, by: Instant) -> Result<FileId>;

    /// The same, of one that Windows's programs do not show unless they are told to.
    fn make_hidden_folder(&mut self, path: &SharePath, by: Instant) -> Result<FileId>;

    /// Makes a file with this content, of [`LONGEST_FILE`] bytes at most, flushed to the server's disk. It stays open
    /// until [`place`](Self::place) or [`discard`](Self::discard). After a failure a part of it may be there.
    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<OpenFile>;

    /// Writes over the beginning of a file that is there, flushed to the server's disk. A reparse point is not followed.
    fn overwrite(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<()>;

    /// Moves a file that was made to another path, where it replaces a file, and closes it, after a failure too. Returns
    /// when it has changed, as [`Entry::changed`]; 0 if the server does not tell.
    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<u64>;

    /// Removes what is open: a file, or an empty folder.
    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()>;

    /// The content of a file of [`LONGEST_FILE`] bytes at most.
    fn read(&mut self, path: &SharePath, by: Instant) -> Result<Vec<u8>>;

    /// Writes more of a file that was made and is open, from a place on, and flushes it to the server's disk.
    fn write_on(&mut self, file: &OpenFile, at: u64, content: &[u8], by: Instant) -> Result<()>;

    /// What a file of any length has from a place on, [`LONGEST_FILE`] bytes at most; nothing at its end.
    fn read_on(&mut self, path: &SharePath, at: u64, by: Instant) -> Result<Vec<u8>>;

    /// Closes what is open, which ends a lock.
    fn close(&mut self, file: OpenFile, by: Instant) -> Result<()>;

    /// Moves a file or folder that must have this id, and keeps it open.
    fn take(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        existing: Existing,
        by: Instant,
    ) -> Result<OpenFile>;

    /// The same, and closes it.
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
    fn clear(&mut self, path: &SharePath, by: Instant) -> Result<()>;

    /// Removes a file, a link or an empty folder that must have this id, read-only ones too.
    fn remove(&mut self, path: &SharePath, id: FileId, by: Instant) -> Result<()> {
        self.remove_each(&[(path.clone(), id)], by)
    }

    /// Removes several, each as [`remove`](Self::remove) does, and returns the first failure: others may be gone then, in
    /// any order.
    fn remove_each(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()>;

    /// Makes or opens a file that no other client can open until [`close`](Self::close) or the end of this
    /// connection, which removes it too. If this client's machine vanishes, that is when the server notices.
    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile>;

    /// The same, beside others who lock it in this way. Its end leaves the file, which the next [`lock`](Self::lock)
    /// takes, and removes.
    fn lock_beside(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile>;

    /// What is free for the user in the file system of a folder.
    fn space(&mut self, folder: &SharePath, by: Instant) -> Result<Space>;

    /// Opens another share of the server, or this one once more, over this connection: both end with it. Dropped, it is
    /// closed with this connection's next request.
    fn beside(&mut self, share: &Name, by: Instant) -> Result<Box<dyn Share + Send>>;

    /// Copies the content of a folder of any share of this server into a folder of this one, over this connection.
    ///
    /// It has no deadline of its own: each exchange with the server has [`CopyOrder::patience`], and `watch` stops it.
    fn copy(&mut self, order: &CopyOrder, watch: &mut dyn Watch) -> Result<Copied>;
}

/// The server's number of a file or folder: unique in its file system while the file exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

impl FileId {
    /// Not what servers send in an id's place (MS-FSCC 2.1.9).
    pub(crate) fn is_told(self) -> bool {
        !matches!(self.0, 0 | u64::MAX)
    }
}

/// What a file system has, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// For this user, whose quota may be less than what the disk has.
    pub free: u64,
    /// For this user too.
    pub total: u64,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: Name,
    pub id: FileId,
    pub kind: Kind,
    /// In bytes, of a file.
    pub size: u64,
    /// When its content or attributes changed, in units of 100 ns since 1601 by the server's clock.
    pub changed: u64,
    pub basic: Basic,
}

/// Times in units of 100 ns since 1601 by the server's clock, and attributes by their bits in MS-FSCC 2.6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basic {
    pub created: u64,
    pub accessed: u64,
    pub written: u64,
    pub attributes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    /// Samba shows a symbolic link to a folder so too.
    Folder,
    /// A reparse point of any tag.
    Link,
}

/// The first entries of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub id: FileId,
    /// Of the folder above, as its `..` has it; `None` if the server lists none.
    pub above: Option<FileId>,
    pub entries: Vec<Entry>,
    pub has_more: bool,
}

/// What a rename of a file does with a file at the new path. A folder never replaces, nor is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Existing {
    Refuse = 0,
    Replace = 1,
}

/// What was made, moved or locked, and is still open. Dropped, it stays open until the connection ends.
#[must_use = "what is dropped stays open until the connection ends"]
#[derive(Debug)]
pub struct OpenFile {
    pub path: SharePath,
    handle: Handle,
    pub id: FileId,
}
