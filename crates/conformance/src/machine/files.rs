//! Cases' changes of files past the seam.

use std::path::{Path, PathBuf};
use std::{fs, io};

use os::{Cause, Error, LinkKind, Os, Result, WinPath};

use crate::real::{self, code};

pub(super) fn write(path: &WinPath, content: &[u8]) -> Result<()> {
    let written = fs::write(path.to_verbatim(), content);
    written.map_err(|error| Error::new("WriteFile", path, code(&error)))
}

pub(super) fn read(path: &WinPath) -> Result<Vec<u8>> {
    let read = fs::read(path.to_verbatim());
    read.map_err(|error| Error::new("ReadFile", path, code(&error)))
}

pub(super) fn set_read_only(path: &WinPath) -> Result<()> {
    let set = || -> io::Result<()> {
        let path = PathBuf::from(path.to_verbatim());
        let mut permissions = fs::symlink_metadata(&path)?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(path, permissions)
    };
    set().map_err(|error| Error::new("SetFileAttributesW", path, code(&error)))
}

/// Whether a folder lets in only LocalSystem and Administrators, by a list without inheritance.
pub(super) fn is_closed(os: &Os, folder: &Path) -> Result<bool> {
    let name = folder.to_string_lossy();
    let parsed = name.parse::<WinPath>();
    let path =
        parsed.map_err(|error| Error::new("parse", name, Cause::Malformed(error.to_string())))?;
    let list = os.files.dacl(&path)?;
    let (flags, entries) = list.split_once('(').unwrap_or_default();
    let is_of_ours = |entry: &str| entry.ends_with(";SY)") || entry.ends_with(";BA)");
    Ok(flags.contains('P') && entries.split('(').all(is_of_ours))
}

pub(super) fn create_reparse_point(
    os: &Os,
    path: &WinPath,
    kind: LinkKind,
    data: &[u8],
) -> Result<()> {
    match kind {
        LinkKind::Directory => os.files.create_directory(path)?,
        LinkKind::File => write(path, b"")?,
    }
    real::set_reparse_point(path, data)
}
