use std::fs::{self, File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::names;

/// The suite's folder, closed to other runs as long as this lives: by an exclusively opened file in it.
pub struct Lock {
    folder: PathBuf,
    file: File,
}

impl Lock {
    /// Makes the folder, if it is not there, and takes it.
    ///
    /// # Errors
    /// Another run has it, or it cannot be made.
    pub fn of(folder: &Path) -> Result<Self, String> {
        let failed = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).share_mode(0);
        let opened = options.open(folder.join(names::LOCK));
        let taken = opened.map_err(|error| format!("{}: another run? {error}", folder.display()));
        Ok(Self {
            folder: folder.to_owned(),
            file: taken?,
        })
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Releases the folder and removes it; it stays if anything else is in it.
    pub(super) fn give_up(self) {
        drop(self.file);
        let _ = fs::remove_file(self.folder.join(names::LOCK));
        let _ = fs::remove_dir(self.folder);
    }
}
