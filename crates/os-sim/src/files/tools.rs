//! Changes by tests and demonstrations to the node's files that the seam has no call for.

use std::fs;
use std::path::PathBuf;

use os::{Cause, Error, LinkKind, Win32, WinPath};

use super::host::{self, Node};
use super::marker::ReparsePoint;
use super::walk::{Destination, Final};
use super::{FileTree, sys};

impl FileTree {
    /// Where on the host the path leads to once all links are followed; the entry itself may not
    /// exist yet.
    ///
    /// # Errors
    /// A directory above it does not exist or cannot be reached.
    pub fn host_path(&self, path: &WinPath) -> os::Result<PathBuf> {
        let _looking = self.looking();
        self.walk(path, Final::Followed)
            .map(|place| place.host)
            .map_err(|cause| Error::new("CreateFileW", path, cause))
    }

    /// The content of a file.
    ///
    /// # Errors
    /// [`Win32::ACCESS_DENIED`] for a directory; no such file.
    pub fn read_file(&self, path: &WinPath) -> os::Result<Vec<u8>> {
        let _looking = self.looking();
        self.content(path)
            .map_err(|cause| Error::new("ReadFile", path, cause))
    }

    /// Writes a file anew, creating it when it does not exist.
    ///
    /// # Errors
    /// [`Win32::ACCESS_DENIED`] for a directory and for a read-only file; no such folder.
    pub fn write_file(&self, path: &WinPath, content: &[u8]) -> os::Result<()> {
        let _changing = self.changing();
        self.overwrite(path, content)
            .map_err(|cause| Error::new("WriteFile", path, cause))
    }

    /// Gives an entry the read-only attribute.
    ///
    /// # Errors
    /// No such entry.
    pub fn set_read_only(&self, path: &WinPath) -> os::Result<()> {
        let _changing = self.changing();
        self.refuse_writing(path)
            .map_err(|cause| Error::new("SetFileAttributesW", path, cause))
    }

    /// Creates a reparse point with this `REPARSE_DATA_BUFFER`, a directory or a file otherwise
    /// (`FSCTL_SET_REPARSE_POINT`): a junction, or a tag that nothing on the node understands.
    ///
    /// # Errors
    /// [`Win32::ALREADY_EXISTS`] when anything has that name; no such folder.
    pub fn create_reparse_point(
        &self,
        path: &WinPath,
        kind: LinkKind,
        data: &[u8],
    ) -> os::Result<()> {
        let _changing = self.changing();
        self.vacant(path)
            .and_then(|place| self.plant(&place, &ReparsePoint::new(kind, data.to_vec())))
            .map_err(|cause| Error::new("FSCTL_SET_REPARSE_POINT", path, cause))
    }

    /// Makes a reparse point of an empty directory in place, pinned or not: a pin does not govern
    /// attribute writes ([MS-FSA] 2.1.5.10.37).
    ///
    /// # Errors
    /// [`Win32::DIR_NOT_EMPTY`] when it holds something; no such directory.
    pub fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> os::Result<()> {
        let _changing = self.changing();
        self.retag(directory, data)
            .map_err(|cause| Error::new("FSCTL_SET_REPARSE_POINT", directory, cause))
    }

    fn retag(&self, directory: &WinPath, data: &[u8]) -> Result<(), Cause> {
        let place = self.writable(directory, Final::Itself)?;
        match place.found()? {
            Node::Directory { .. } if host::list(&place.host)?.is_empty() => {}
            Node::Directory { .. } => return Err(Win32::DIR_NOT_EMPTY.into()),
            _ => return Err(Win32::DIRECTORY.into()),
        }
        let point = ReparsePoint::new(LinkKind::Directory, data.to_vec());
        self.rewrite(&place, &point)
    }

    fn content(&self, path: &WinPath) -> Result<Vec<u8>, Cause> {
        let place = self.walk(path, Final::Followed)?;
        match place.found()? {
            Node::File { .. } => fs::read(&place.host).map_err(|error| host::cause(&error).into()),
            _ => Err(Win32::ACCESS_DENIED.into()),
        }
    }

    fn overwrite(&self, path: &WinPath, content: &[u8]) -> Result<(), Cause> {
        let Destination { host, node, .. } = self.writable(path, Final::Followed)?;
        match node {
            None
            | Some(Node::File {
                read_only: false, ..
            }) => fs::write(host, content).map_err(|error| host::cause(&error).into()),
            Some(_) => Err(Win32::ACCESS_DENIED.into()),
        }
    }

    fn refuse_writing(&self, path: &WinPath) -> Result<(), Cause> {
        let place = self.writable(path, Final::Itself)?;
        place.found()?;
        sys::set_read_only(&place.host, true).map_err(|error| host::cause(&error).into())
    }
}
