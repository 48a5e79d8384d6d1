//! Looking at the host: what lies in a host folder, in the node's terms.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use os::{Cause, DirEntry, Entry, FileAttributes, Win32};

use super::marker::{self, ReparsePoint};
use super::{names, sys};

/// New files carry it on NTFS.
const ARCHIVE: FileAttributes = FileAttributes(0x20);

/// What a host path holds.
pub(super) enum Node {
    Directory { read_only: bool },
    File { read_only: bool, size: u64 },
    Reparse(ReparsePoint),
}

impl Node {
    /// What the node says of it.
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

/// The entry of `folder` that Windows takes for `name`: its host path and what it is.
///
/// Two host entries may differ in case alone; the one spelled as asked for wins, then the first in
/// the alphabet.
pub(super) fn lookup(folder: &Path, name: &OsStr) -> Result<Option<(PathBuf, Node)>, Cause> {
    let exact = folder.join(name);
    if let Some(node) = entry_at(&exact)? {
        return Ok(Some((exact, node)));
    }
    let Some(other) = other_case(folder, name)? else {
        return Ok(None);
    };
    Ok(entry_at(&other)?.map(|node| (other, node)))
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

/// What lies at a host path.
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
    Ok(match marker::read(host, read_only)? {
        Some(point) => Node::Reparse(point),
        None => Node::Directory { read_only },
    })
}

fn other_case(folder: &Path, name: &OsStr) -> Result<Option<PathBuf>, Cause> {
    let mut found: Option<PathBuf> = None;
    for entry in fs::read_dir(folder).map_err(|error| cause(&error))? {
        let entry = entry.map_err(|error| cause(&error))?;
        let candidate = entry.path();
        let is_match = names::same(&names::shown(&entry.file_name()), name);
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
