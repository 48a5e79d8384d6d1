//! Access control lists of directories. They are kept and never checked: each caller is an administrator.

use std::path::Path;
use std::{fs, io};

use os::{Cause, Dacl, Win32, WinPath};

use super::host::{self, Node};
use super::walk::{Destination, Final};
use super::{FileTree, names};

/// The list of a directory on which nobody set one: administrators may do everything, users may
/// read and add folders, as on a fresh volume (kubernetes/kubernetes issue 131341). The list that
/// Windows really writes depends on its version.
const UNTOUCHED: &str = "D:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICI;FRFX;;;BU)(A;CI;LC;;;BU)";

impl FileTree {
    pub(super) fn listed_rights(&self, directory: &WinPath) -> Result<String, Cause> {
        let place = plain(self.walk(directory, Final::Itself)?)?;
        match fs::read_to_string(place.host.join(names::DACL)) {
            Ok(dacl) => Ok(dacl),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(UNTOUCHED.to_owned()),
            Err(error) => Err(host::cause(&error).into()),
        }
    }

    /// In one rename.
    pub(super) fn list_rights(&self, directory: &WinPath, dacl: &Dacl) -> Result<(), Cause> {
        let place = plain(self.writable(directory, Final::Itself)?)?;
        let staging = self.staging(&place.path)?;
        fs::write(&staging, dacl.as_str())
            .and_then(|()| fs::rename(&staging, place.host.join(names::DACL)))
            .map_err(|error| host::cause(&error).into())
    }
}

/// Removes an empty directory with the list that it may have.
pub(super) fn remove_directory(directory: &Path) -> Result<(), Cause> {
    if !host::list(directory)?.is_empty() {
        return Err(Win32::DIR_NOT_EMPTY.into());
    }
    match fs::remove_file(directory.join(names::DACL)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(host::cause(&error).into()),
        _ => Ok(fs::remove_dir(directory).map_err(|error| host::cause(&error))?),
    }
}

fn plain(place: Destination) -> Result<Destination, Cause> {
    match place.found()? {
        Node::Directory { .. } => Ok(place),
        _ => Err(Win32::DIRECTORY.into()),
    }
}
