//! Files of the node's folder that somebody may read at any moment, even after a kill.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, process};

/// Replaces a file by one rename: a reader, and a process that opens the folder after a kill, sees the old
/// content or the new one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let staged = staged(path);
    fs::write(&staged, content)?;
    fs::rename(&staged, path).inspect_err(|_| {
        // The rename's own error is the one to tell.
        let _ = fs::remove_file(&staged);
    })
}

/// A name beside `path` that no other process uses, and that all readers skip.
pub(crate) fn staged(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{number}.tmp", process::id()))
}

/// The file's text; `None` when there is no such file.
pub(crate) fn text(path: &Path) -> io::Result<Option<String>> {
    existing(fs::read_to_string(path))
}

/// Makes a folder, and those above it, unless it is there: an attempt would lock the folder above.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    match folder.is_dir() {
        true => Ok(()),
        false => fs::create_dir_all(folder),
    }
}

/// Turns "there is none" into an answer.
pub(crate) fn existing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The stems of a folder's files with this extension; none when there is no such folder.
pub(crate) fn stems(folder: &Path, extension: &str) -> io::Result<Vec<String>> {
    let Some(entries) = existing(fs::read_dir(folder))? else {
        return Ok(Vec::new());
    };
    let mut stems = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension)
            && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
        {
            stems.push(stem.to_owned());
        }
    }
    stems.sort();
    Ok(stems)
}
