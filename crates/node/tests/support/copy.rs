//! A copy of a node's folder, without the zeros of its disks.

use std::fs::{self, File};
use std::io::{self, Seek as _};
use std::path::Path;

use rustix::fs::SeekFrom;

/// Copies what is in the folder; which process has a node open is a lock on a file, and is not copied with it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            copy_file(&from, &to)?;
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let (from, mut to) = (File::open(from)?, File::create_new(to)?);
    let known = from.metadata()?;
    to.set_len(known.len())?;
    let mut end = 0;
    // The error behind the last of the data says that there is no more.
    while let Ok(begin) = rustix::fs::seek(&from, SeekFrom::Data(end)) {
        end = rustix::fs::seek(&from, SeekFrom::Hole(begin))?;
        rustix::fs::seek(&from, SeekFrom::Start(begin))?;
        to.seek(io::SeekFrom::Start(begin))?;
        io::copy(&mut io::Read::take(&from, end - begin), &mut to)?;
    }
    to.set_permissions(known.permissions())
}
