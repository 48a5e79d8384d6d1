//! Where links are being made, noted for the process that comes after a death.
//!
//! A note is a symbolic link in a folder of the program's own. It has the name of the entry that is reserved, and
//! leads to the folder in which that is. So it is there or not, and nothing else can be in it.

use std::sync::Arc;

use os::{Component, Dacl, Files, LinkKind, Os, Root, WinPath};

use crate::link::{self, Leads};
use crate::{AllowedRoots, ResolveError, leftover};

/// Only SYSTEM and Administrators may write notes.
const DACL: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";

/// The folder of the notes.
pub(crate) struct Notes {
    pub(crate) folder: WinPath,
}

impl Notes {
    /// Notes that an entry of this name is about to be reserved in a directory. A failure is only logged: it
    /// blocks no link.
    pub(crate) fn note<'a>(
        &self,
        files: &'a dyn Files,
        name: &Component,
        directory: &WinPath,
    ) -> Option<Note<'a>> {
        let at = self.folder.join(name.clone());
        let text = directory.to_string();
        let make = || files.create_symlink(&at, &text, LinkKind::Directory);
        let made = match make() {
            Err(error) if error.is_not_found() => self.make_folder(files).and_then(|()| make()),
            made => made,
        };
        match made {
            Ok(()) => Some(Note { files, at }),
            Err(error) => {
                tracing::warn!(%error, "where a link is being made is not noted");
                None
            }
        }
    }

    fn make_folder(&self, files: &dyn Files) -> os::Result<()> {
        let depth = self.folder.components().len();
        for depth in 1..depth {
            // Whatever is wrong with it shows below.
            let _ = files.create_directory(&self.folder.prefix(depth));
        }
        files.create_directory(&self.folder)?;
        match DACL.parse::<Dacl>() {
            Ok(dacl) => files.set_dacl(&self.folder, &dacl),
            Err(_) => Ok(()),
        }
    }

    /// Removes each entry that is noted and within bounds.
    pub(crate) fn clear(&self, os: &Os, allowed: &Arc<AllowedRoots>) {
        let files = &*os.files;
        let noted = match files.list(&self.folder) {
            Ok(noted) => noted,
            Err(error) if error.is_not_found() => return,
            Err(error) => {
                tracing::warn!(%error, "the notes of links cannot be read");
                return;
            }
        };
        for found in noted {
            let Ok(name) = Component::listed(found.name) else {
                continue;
            };
            let at = self.folder.join(name.clone());
            if !leftover::is_named_so(&at) {
                continue;
            }
            match clear_one(os, allowed, &at, &name) {
                Ok(()) => drop(Note { files, at }),
                Err(error) => tracing::warn!(%error, "what is left of a link stays for now"),
            }
        }
    }
}

/// Removes the entry of this name in the directory to which a note leads. Out of bounds, or where there is none any
/// more, is nothing of ours.
fn clear_one(
    os: &Os,
    allowed: &Arc<AllowedRoots>,
    note: &WinPath,
    name: &Component,
) -> os::Result<()> {
    let files = &*os.files;
    let directory = match link::leads(files, note, &files.entry(note)?)? {
        Leads::To(directory) => directory,
        Leads::ToVolume(volume) => WinPath::of_root(Root::Volume(volume)),
        Leads::Nowhere => return Ok(()),
    };
    let resolved = match allowed.resolve(os, &directory.join(name.clone())) {
        Err(ResolveError::Unreadable { source, .. }) => return Err(source),
        Err(_) => return Ok(()),
        Ok(resolved) => resolved,
    };
    match resolved.hold(files) {
        Err(error) if error.is_not_found() => Ok(()),
        held => {
            if let Some(directory) = held?.last() {
                leftover::remove(files, directory, resolved.path());
            }
            Ok(())
        }
    }
}

/// A note, until this is dropped.
pub(crate) struct Note<'a> {
    files: &'a dyn Files,
    at: WinPath,
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.files.remove_directory(&self.at) {
            tracing::debug!(%error, "a note of a link stays");
        }
    }
}
