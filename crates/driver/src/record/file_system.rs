//! Changes of files that somebody may hold: an indexer or a virus scanner opens a file that was just written, for
//! milliseconds and without sharing it for deletion. Then Windows refuses to rename, remove or replace it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION` and `ERROR_LOCK_VIOLATION`
/// (<https://learn.microsoft.com/windows/win32/debug/system-error-codes--0-499->).
const HELD: [i32; 3] = [5, 32, 33];

/// Half a second in all.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSES: u32 = 25;

/// What changes files, each change for half a second while the file is held.
#[derive(Debug)]
pub(crate) struct FileSystem {
    pub create: fn(&Path) -> io::Result<File>,
    pub rename: fn(&Path, &Path) -> io::Result<()>,
    pub remove: fn(&Path) -> io::Result<()>,
    pub pause: fn(Duration),
}

/// Those of the system.
pub(crate) static FILE_SYSTEM: FileSystem = FileSystem {
    create: |file| File::create(file),
    rename: |from, to| fs::rename(from, to),
    remove: |file| fs::remove_file(file),
    pause: thread::sleep,
};

impl FileSystem {
    /// Writes a file beside as far as the disk, and renames it.
    pub(crate) fn replace(&self, file: &Path, text: &str) -> io::Result<()> {
        let beside = file.with_extension(NEW);
        let mut new = self.retry_while_held(|| (self.create)(&beside))?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        drop(new);
        self.retry_while_held(|| (self.rename)(&beside, file))
    }

    /// Removes a file. One that is gone already is success.
    pub(crate) fn remove(&self, file: &Path) -> io::Result<()> {
        match self.retry_while_held(|| (self.remove)(file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn retry_while_held<T>(&self, change: impl Fn() -> io::Result<T>) -> io::Result<T> {
        for _ in 0..PAUSES {
            match change() {
                Err(error)
                    if error
                        .raw_os_error()
                        .is_some_and(|code| HELD.contains(&code)) =>
                {
                    (self.pause)(PAUSE);
                }
                done => return done,
            }
        }
        change()
    }
}

/// The extension of the file that is written beside another.
pub(super) const NEW: &str = "new";
