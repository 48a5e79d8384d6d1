//! Reparse points on a host that may have none: a host directory that holds nothing but a marker.

use std::path::Path;
use std::{fs, io};

use os::{Cause, FileAttributes, LinkKind, ReparseTag, VolumeId, Win32};

use super::{host, links, names};

/// The start of a marker, with its version; one byte for the kind and the reparse data follow.
const MAGIC: &[u8; 7] = b"WCSIRP1";

/// `ERROR_FILE_CORRUPT`: a marker that we did not write.
const FILE_CORRUPT: Win32 = Win32(1392);

/// A reparse point: its data, and whether it is a directory or a file otherwise.
pub(super) struct ReparsePoint {
    /// The `REPARSE_DATA_BUFFER`, header included.
    pub(super) data: Vec<u8>,
    pub(super) kind: LinkKind,
    pub(super) read_only: bool,
    lies: Lies,
}

/// How a reparse point lies on the host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lies {
    /// As a directory with a marker.
    Marked,
    /// As something of the host that Windows shows as a reparse point: a socket.
    Special,
}

impl ReparsePoint {
    /// One with this data. The kind says whether it is a directory otherwise.
    pub(super) fn new(kind: LinkKind, data: Vec<u8>) -> Self {
        Self {
            data,
            kind,
            read_only: false,
            lies: Lies::Marked,
        }
    }

    /// Something of the host that is neither file nor directory.
    pub(super) fn special(tag: ReparseTag, read_only: bool) -> Self {
        Self {
            data: links::empty(tag),
            kind: LinkKind::File,
            read_only,
            lies: Lies::Special,
        }
    }

    pub(super) fn is_marked(&self) -> bool {
        self.lies == Lies::Marked
    }

    /// The tag; zero for data too short to have one.
    pub(super) fn tag(&self) -> ReparseTag {
        let bytes = self.data.first_chunk().copied().unwrap_or_default();
        ReparseTag(u32::from_le_bytes(bytes))
    }

    pub(super) fn attributes(&self) -> FileAttributes {
        match self.kind {
            LinkKind::Directory => FileAttributes::DIRECTORY.and(FileAttributes::REPARSE_POINT),
            LinkKind::File => FileAttributes::REPARSE_POINT,
        }
    }

    /// A mounted folder.
    pub(super) fn mounted_folder(volume: VolumeId) -> Result<Self, Cause> {
        let data = links::mounted_folder(volume)?;
        Ok(Self::new(LinkKind::Directory, data))
    }

    /// A symbolic link to `target` as it is written.
    pub(super) fn symlink(target: &str, kind: LinkKind) -> Result<Self, Cause> {
        Ok(Self::new(kind, links::symlink(target)?))
    }

    /// The volume that a mounted folder leads to; `None` for any other reparse point.
    pub(super) fn volume(&self) -> Option<VolumeId> {
        links::mounted_volume(&self.data)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let kind = match self.kind {
            LinkKind::Directory => b'D',
            LinkKind::File => b'F',
        };
        [MAGIC.as_slice(), &[kind], &self.data].concat()
    }

    fn from_bytes(bytes: &[u8], read_only: bool) -> Option<Self> {
        let (kind, data) = bytes.strip_prefix(MAGIC)?.split_first()?;
        let kind = match kind {
            b'D' => LinkKind::Directory,
            b'F' => LinkKind::File,
            _ => return None,
        };
        Some(Self {
            read_only,
            ..Self::new(kind, data.to_vec())
        })
    }
}

/// The reparse point that a host directory stands for, if it does.
pub(super) fn read(host: &Path, read_only: bool) -> Result<Option<ReparsePoint>, Cause> {
    match fs::read(host.join(names::MARKER)) {
        Ok(bytes) => match ReparsePoint::from_bytes(&bytes, read_only) {
            Some(point) => Ok(Some(point)),
            None => Err(FILE_CORRUPT.into()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(host::cause(&error).into()),
    }
}

/// Makes an existing empty directory a reparse point, in one rename.
pub(super) fn write(host: &Path, staging: &Path, point: &ReparsePoint) -> Result<(), Cause> {
    fs::write(staging, point.to_bytes())
        .and_then(|()| fs::rename(staging, host.join(names::MARKER)))
        .map_err(|error| host::cause(&error).into())
}

/// Creates a reparse point where nothing is, in one rename.
pub(super) fn create(host: &Path, staging: &Path, point: &ReparsePoint) -> Result<(), Cause> {
    fs::create_dir(staging)
        .and_then(|()| fs::write(staging.join(names::MARKER), point.to_bytes()))
        .and_then(|()| fs::rename(staging, host))
        .map_err(|error| host::cause(&error).into())
}

/// Makes a reparse point a plain empty directory, in one deletion.
pub(super) fn remove(host: &Path) -> Result<(), Cause> {
    fs::remove_file(host.join(names::MARKER)).map_err(|error| host::cause(&error).into())
}

/// Removes a reparse point as an entry, in one rename: it is gone from its folder before any part of
/// it is deleted.
pub(super) fn remove_whole(host: &Path, staging: &Path) -> Result<(), Cause> {
    fs::rename(host, staging)
        .and_then(|()| fs::remove_dir_all(staging))
        .map_err(|error| host::cause(&error).into())
}
