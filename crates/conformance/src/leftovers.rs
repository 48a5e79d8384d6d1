//! A former run's leftovers in the suite's folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::names;

/// The disks of former runs: the plain files in the folder with such a name. A missing folder has none.
///
/// # Errors
/// The folder cannot be read.
pub fn disk_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().is_some_and(names::is_disk_file);
        if is_ours && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::disk_files;
    use crate::names;

    #[test]
    fn only_files_with_our_names_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let ours = [at(&names::disk_file(1)), at(&names::disk_file(20))];
        for file in &ours {
            fs::write(file, "ours").expect("a file");
        }
        fs::write(at("accounts.vhdx"), "theirs").expect("a file");
        fs::write(at("wincsi-suite-disk-x.vhdx"), "theirs").expect("a file");
        fs::create_dir(at(&names::disk_file(3))).expect("a folder");
        assert_eq!(disk_files(folder.path()).expect("a list"), ours);
    }

    #[test]
    fn a_folder_that_is_not_there_holds_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = disk_files(&folder.path().join("never")).expect("a list");
        assert_eq!(found, Vec::<std::path::PathBuf>::new());
    }
}
