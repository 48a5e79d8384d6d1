use std::ffi::OsString;

use crate::{Component, Dacl, Result, WinPath};

/// Files, directories and reparse points.
///
/// Unless said otherwise a call is about the entry that the path names, never about what a link at
/// the end of the path leads to; links in the middle of a path are followed, as Windows does.
pub trait Files: Send + Sync {
    /// Looks at one entry (`FindFirstFileW` or `GetFileAttributesExW`).
    ///
    /// # Errors
    /// [`crate::Win32::FILE_NOT_FOUND`] when the entry, [`crate::Win32::PATH_NOT_FOUND`] when a directory above it
    /// does not exist.
    fn entry(&self, path: &WinPath) -> Result<Entry>;

    /// Whether the path leads to a directory once all links are followed.
    ///
    /// # Errors
    /// The path or something that a link leads to does not exist or cannot be reached.
    fn leads_to_directory(&self, path: &WinPath) -> Result<bool>;

    /// The entry's `REPARSE_DATA_BUFFER` as raw bytes (`FSCTL_GET_REPARSE_POINT`).
    ///
    /// # Errors
    /// [`crate::Win32::NOT_A_REPARSE_POINT`] for a plain entry; no such entry.
    fn reparse_data(&self, path: &WinPath) -> Result<Vec<u8>>;

    /// The entries of a directory without `.` and `..`, in no particular order. Unlike other calls
    /// this one follows a link at the end of the path: who must not, looks again afterwards.
    ///
    /// # Errors
    /// No such directory, or access denied.
    fn list(&self, directory: &WinPath) -> Result<Vec<DirEntry>>;

    /// [`Files::list`] of at most `most` entries: other processes may have made any number of them.
    ///
    /// It serves to show a directory to a driver, and to remove a large one piece by piece.
    ///
    /// # Errors
    /// As [`Files::list`].
    fn list_some(&self, directory: &WinPath, most: usize) -> Result<Vec<DirEntry>>;

    /// Holds a plain directory in place: until the pin is dropped, nobody can rename it or delete it
    /// (an open handle without delete sharing). While it is empty, somebody may still make a junction
    /// of it; its entries are therefore reached through the pin, where that matters.
    ///
    /// # Errors
    /// [`crate::Win32::DIRECTORY`] for anything that is not a directory, and for a reparse point of
    /// any tag; [`crate::Win32::SHARING_VIOLATION`] while someone is deleting it.
    fn pin(&self, directory: &WinPath) -> Result<Pin>;

    /// Creates one directory (`CreateDirectoryW`).
    ///
    /// # Errors
    /// [`crate::Win32::ALREADY_EXISTS`] when anything has that name.
    fn create_directory(&self, path: &WinPath) -> Result<()>;

    /// Removes an empty directory, or a directory link, junction or mounted folder as an entry: what
    /// it leads to stays, and the mount manager forgets a mounted folder (`RemoveDirectoryW`).
    ///
    /// # Errors
    /// [`crate::Win32::DIR_NOT_EMPTY`]; [`crate::Win32::DIRECTORY`] for a file; no such entry.
    fn remove_directory(&self, path: &WinPath) -> Result<()>;

    /// Removes a file, or a file link as an entry (`DeleteFileW`).
    ///
    /// # Errors
    /// [`crate::Win32::ACCESS_DENIED`] for a directory and for a read-only file; no such entry.
    fn remove_file(&self, path: &WinPath) -> Result<()>;

    /// Removes a symbolic link of this kind as an entry, and nothing that took its place meanwhile: what goes is what
    /// was looked at, by one handle (`SetFileInformationByHandle`).
    ///
    /// # Errors
    /// [`crate::Win32::NOT_A_REPARSE_POINT`] for a plain entry, [`crate::Win32::REPARSE_TAG_MISMATCH`] for another
    /// reparse point and for a link of the other kind; [`crate::Win32::ACCESS_DENIED`] for a read-only one; no such
    /// entry.
    fn remove_symlink(&self, path: &WinPath, kind: LinkKind) -> Result<()>;

    /// Takes away the read-only attribute (`SetFileAttributesW`).
    ///
    /// # Errors
    /// No such entry, or access denied.
    fn clear_read_only(&self, path: &WinPath) -> Result<()>;

    /// Creates a symbolic link that stores `target` as it is written (`CreateSymbolicLinkW`).
    ///
    /// # Errors
    /// [`crate::Win32::ALREADY_EXISTS`] when anything has the link's name.
    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> Result<()>;

    /// The access control list of a plain directory, inherited entries included, in the definition
    /// language as the system writes it (`GetSecurityInfo`). Two texts may say the same.
    ///
    /// # Errors
    /// [`crate::Win32::DIRECTORY`] for anything but a plain directory; no such directory, or access denied.
    fn dacl(&self, directory: &WinPath) -> Result<String>;

    /// Sets the access control list of a plain directory, and by it what its entries inherit
    /// (`SetSecurityInfo`).
    ///
    /// # Errors
    /// As [`Files::dacl`]; [`crate::Win32::WRITE_PROTECT`] on a read-only volume; the system does not know
    /// an account of the list.
    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> Result<()>;
}

/// The properties of an entry, without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Directory, read-only, reparse point.
    pub attributes: FileAttributes,
    /// The tag, when the entry is a reparse point.
    pub tag: Option<ReparseTag>,
    /// The length of a file in bytes; zero for others.
    pub size: u64,
}

impl Entry {
    /// Whether the entry is a directory or a directory-like reparse point.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.attributes.contains(FileAttributes::DIRECTORY)
    }
}

/// One entry of a directory. The name is the system's and may be no valid Unicode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: OsString,
    /// Its properties.
    pub entry: Entry,
}

/// `FILE_ATTRIBUTE_*` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileAttributes(pub u32);

impl FileAttributes {
    /// The entry refuses writing and deletion.
    pub const READ_ONLY: Self = Self(0x1);
    /// The entry is a directory.
    pub const DIRECTORY: Self = Self(0x10);
    /// A plain file.
    pub const NORMAL: Self = Self(0x80);
    /// The entry is a reparse point.
    pub const REPARSE_POINT: Self = Self(0x400);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A reparse tag. Source: [MS-FSCC] 2.1.2.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReparseTag(pub u32);

impl ReparseTag {
    /// Mounted folders and junctions.
    pub const MOUNT_POINT: Self = Self(0xA000_0003);
    /// Symbolic links.
    pub const SYMLINK: Self = Self(0xA000_000C);
    /// Sockets of the AF_UNIX family.
    pub const AF_UNIX: Self = Self(0x8000_0023);
}

impl std::fmt::Debug for ReparseTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReparseTag(0x{:08X})", self.0)
    }
}

/// Whether a symbolic link says that it leads to a directory or to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `SYMBOLIC_LINK_FLAG_DIRECTORY`.
    Directory,
    /// A link to a file, or to nothing yet.
    File,
}

/// A directory that is held in place. Its entries are reached through the directory itself, not
/// through its path, so a change of the path meanwhile redirects no access.
pub trait Held: Send {
    /// Holds a directory in this one, as [`Files::pin`].
    ///
    /// # Errors
    /// As [`Files::pin`].
    fn pin(&self, name: &Component) -> Result<Pin>;

    /// Removes an entry of this directory as an entry: a file, an empty directory, or a link,
    /// junction or mounted folder, read-only or not.
    ///
    /// # Errors
    /// [`crate::Win32::DIR_NOT_EMPTY`]; [`crate::Win32::FILE_INVALID`] when something took the name of a mounted
    /// folder while the mount manager let that go; no such entry.
    fn remove(&self, name: &Component) -> Result<()>;

    /// Removes a symbolic link of this kind from this directory, as [`Files::remove_symlink`].
    ///
    /// # Errors
    /// As there.
    fn remove_symlink(&self, name: &Component, kind: LinkKind) -> Result<()>;

    /// Creates a directory in this one.
    ///
    /// # Errors
    /// [`crate::Win32::ALREADY_EXISTS`] when anything has that name.
    fn create_directory(&self, name: &Component) -> Result<()>;

    /// Creates an empty entry of this directory and holds it in place, shared for reading alone. As long as it is
    /// there, this directory is not empty, and so cannot be made a junction.
    ///
    /// # Errors
    /// [`crate::Win32::ALREADY_EXISTS`] when anything has that name;
    /// [`crate::Win32::REPARSE_POINT_ENCOUNTERED`] when this directory is a reparse point by now.
    fn reserve(&self, name: &Component, kind: LinkKind) -> Result<Box<dyn Placeholder>>;
}

/// An entry of a held directory that is to become a symbolic link. Nobody else can rename or remove it until this
/// is dropped; it stays then. A process that may write its attributes can make a junction of it.
pub trait Placeholder: Send {
    /// Makes it a symbolic link that stores `target` as it is written (`FSCTL_SET_REPARSE_POINT`).
    ///
    /// # Errors
    /// [`crate::Win32::DIR_NOT_EMPTY`] if another process put something into it,
    /// [`crate::Win32::REPARSE_TAG_MISMATCH`] if another process made it another reparse point.
    fn become_symlink(&self, target: &str) -> Result<()>;

    /// Gives it another name in its directory, which nothing has.
    ///
    /// # Errors
    /// [`crate::Win32::ALREADY_EXISTS`] when anything has that name.
    fn rename(&self, name: &Component) -> Result<()>;
}

/// A directory that is held in place until this is dropped.
pub struct Pin(Box<dyn Held>);

impl Pin {
    /// Wraps what holds the directory, a handle usually.
    pub fn holding(held: impl Held + 'static) -> Self {
        Self(Box::new(held))
    }

    /// Lets go.
    pub fn release(self) {
        drop(self.0);
    }
}

impl std::ops::Deref for Pin {
    type Target = dyn Held;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
