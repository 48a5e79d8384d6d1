//! Looking at the host: what lies in a host folder, in the node's terms.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use os::{Cause, DirEntry, Entry, FileAttributes, Win32};

use super::marker::{self, ReparsePoint};
use super::{names, sys};

/// New files carry it on NTFS.
const ARCHIVE: FileAttributes = FileAttributes(0x20);

/// The content of a host path.
pub(super) enum Node {
    Directory { read_only: bool },
    File { read_only: bool, size: u64 },
    Reparse(ReparsePoint),
}

impl Node {
    /// The node's view of it.
    pub(super) fn entry(&self) -> Entry {
        let (kind, tag, size) = match self {
            Self::Directory { .. } => (FileAttributes::DIRECTORY, None, 0),
            Self::File { size, .. } => (ARCHIVE, None, *size),
            Self::Reparse(point) => (point.attributes(), Some(point.tag()), 0),
        };
        let attributes = if self.is_read_only() {
            kind.and(FileAttributes::READ_ONLY)
        } else {
            kind
        };
        Entry {
            attributes,
            tag,
            size,
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        match self {
            Self::Directory { read_only } | Self::File { read_only, .. } => *read_only,
            Self::Reparse(point) => point.read_only,
        }
    }
}

/// Goes from a folder to the entry that Windows would open as `name`, and returns its content.
///
/// If two host entries differ only in case, the exact spelling wins, then the first in the
/// alphabet.
pub(super) fn enter(folder: &mut PathBuf, name: &OsStr) -> Result<Option<Node>, Cause> {
    folder.push(name);
    if let Some(node) = entry_at(folder)? {
        return Ok(Some(node));
    }
    folder.pop();
    let other = other_case(folder, name)?;
    folder.push(other.as_deref().unwrap_or(name));
    match other {
        Some(_) => entry_at(folder),
        None => Ok(None),
    }
}

/// The entries of a host folder but for ours.
pub(super) fn list(folder: &Path) -> Result<Vec<DirEntry>, Cause> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| cause(&error))? {
        let entry = entry.map_err(|error| cause(&error))?;
        let name = entry.file_name();
        if names::is_reserved(&name) {
            continue;
        }
        if let Some(node) = entry_at(&entry.path())? {
            entries.push(DirEntry {
                name: names::shown(&name),
                entry: node.entry(),
            });
        }
    }
    Ok(entries)
}

/// The entry at a host path.
pub(super) fn entry_at(host: &Path) -> Result<Option<Node>, Cause> {
    match fs::symlink_metadata(host) {
        Ok(metadata) => classify(host, &metadata).map(Some),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(cause(&error).into()),
    }
}

/// The code that Windows has for a failure of the host.
pub(super) fn cause(error: &io::Error) -> Win32 {
    match error.kind() {
        io::ErrorKind::NotFound => Win32::FILE_NOT_FOUND,
        io::ErrorKind::NotADirectory => Win32::PATH_NOT_FOUND,
        io::ErrorKind::PermissionDenied => Win32::ACCESS_DENIED,
        io::ErrorKind::AlreadyExists => Win32::ALREADY_EXISTS,
        io::ErrorKind::DirectoryNotEmpty => Win32::DIR_NOT_EMPTY,
        io::ErrorKind::InvalidFilename => Win32::FILENAME_EXCED_RANGE,
        io::ErrorKind::ReadOnlyFilesystem => Win32::WRITE_PROTECT,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Win32::DISK_FULL,
        _ => Win32::IO_DEVICE,
    }
}

fn classify(host: &Path, metadata: &Metadata) -> Result<Node, Cause> {
    let read_only = sys::is_read_only(metadata);
    if let Some(tag) = sys::special(metadata.file_type()) {
        return Ok(Node::Reparse(ReparsePoint::special(tag, read_only)));
    }
    if !metadata.is_dir() {
        let size = metadata.len();
        return Ok(Node::File { read_only, size });
    }
    if sys::has_directories(metadata) {
        return Ok(Node::Directory { read_only });
    }
    Ok(match marker::read(host, read_only)? {
        Some(point) => Node::Reparse(point),
        None => Node::Directory { read_only },
    })
}

fn other_case(folder: &Path, name: &OsStr) -> Result<Option<OsString>, Cause> {
    let mut found: Option<OsString> = None;
    for entry in fs::read_dir(folder).map_err(|error| cause(&error))? {
        let candidate = entry.map_err(|error| cause(&error))?.file_name();
        let is_match = names::same(&names::shown(&candidate), name);
        if is_match && found.as_ref().is_none_or(|first| candidate < *first) {
            found = Some(candidate);
        }
    }
    Ok(found)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
