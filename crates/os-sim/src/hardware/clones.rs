//! The host files of a disk's clone.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::medium::Medium;
use crate::folder;
use crate::ondisk::{Area, Table};

/// Copies the files of all volumes of a disk to the folder of its clone.
pub(super) fn copy_files(node: &Path, of: &str, original: &Medium, name: &str) -> io::Result<()> {
    let (theirs, ours) = (files(node, of), files(node, name));
    for partition in partitions(original)? {
        let own = theirs.join(&partition);
        let from = match own.exists() {
            true => own,
            false => node.join("volumes").join(&partition),
        };
        copy(&from, &ours.join(&partition))?;
    }
    Ok(())
}

/// Forgets the files of a disk that is pulled out, if it was a clone.
pub(super) fn remove_files(node: &Path, name: &str) -> io::Result<()> {
    folder::existing(fs::remove_dir_all(files(node, name))).map(drop)
}

/// Moves the files of a disk that goes to or comes from the shelf, if it is a clone.
pub(super) fn move_files(from: &Path, to: &Path, name: &str) -> io::Result<()> {
    folder::existing(fs::rename(files(from, name), files(to, name))).map(drop)
}

/// A copy of a disk that no file holds.
pub(super) fn in_memory(original: &Medium) -> io::Result<Medium> {
    const PIECE: usize = 1 << 20;
    let length = original.length()?;
    let copy = Medium::in_memory(length);
    for at in (0..length).step_by(PIECE) {
        let left = usize::try_from(length - at).unwrap_or(PIECE);
        let mut piece = vec![0; left.min(PIECE)];
        original.read(at, &mut piece)?;
        if piece.iter().any(|byte| *byte != 0) {
            copy.write(at, &piece)?;
        }
    }
    Ok(copy)
}

fn files(node: &Path, name: &str) -> PathBuf {
    node.join("disks").join(format!("{name}.files"))
}

fn partitions(medium: &Medium) -> io::Result<Vec<String>> {
    let length = medium.length()?;
    let tables = [512, 4096].map(|sector| Table::read(Area::sound(medium, length, sector)));
    let partitions = tables.iter().flat_map(|table| &table.partitions);
    Ok(partitions
        .map(|partition| partition.id.to_string())
        .collect())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let Some(entries) = folder::existing(fs::read_dir(from))? else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => fs::copy(entry.path(), to).map(drop)?,
        }
    }
    Ok(())
}
