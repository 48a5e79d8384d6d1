//! The names of everything that the suite makes outside its processes. They are fixed, except files in a folder of
//! their own: so a killed run's leftovers are found by name, and nothing else is ever touched.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The one share, of a folder on the suite's own volume.
pub const SHARE: &str = "wincsi-suite-share";

/// The user of the share's mapping. A name has 20 characters at most.
pub const USER: &str = "wincsi-suite-user";

/// A service without dependents.
pub const IDLE_SERVICE: &str = "wincsi-suite-idle";

/// A service with a dependent.
pub const BASE_SERVICE: &str = "wincsi-suite-base";

/// The service that needs [`BASE_SERVICE`].
pub const DEPENDENT_SERVICE: &str = "wincsi-suite-dependent";

/// All services, dependents first, in the order of stopping.
pub const SERVICES: [&str; 3] = [DEPENDENT_SERVICE, BASE_SERVICE, IDLE_SERVICE];

/// The source of events in the Application log; they stay there.
pub const EVENT_SOURCE: &str = "wincsi-suite";

/// In the suite's folder, open as long as a run lasts.
pub const LOCK: &str = "wincsi-suite.lock";

/// The comment on users, shares and services, for people who find them.
pub const REMARK: &str = "Made by wincsi's suite for Windows, for the time of a run";

const DISK: &str = "wincsi-suite-disk-";
const FILE: &str = ".vhdx";

/// The file of a run's n-th disk, in the suite's folder.
#[must_use]
pub fn disk_file(number: u32) -> String {
    format!("{DISK}{number}{FILE}")
}

/// The disks of former runs: the plain files in the suite's folder with such a name. A missing folder has none.
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
        let is_ours = entry.file_name().to_str().is_some_and(is_disk_file);
        if is_ours && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn is_disk_file(name: &str) -> bool {
    let rest = name.strip_prefix(DISK);
    let number = rest.and_then(|rest| rest.strip_suffix(FILE));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_known_by_its_whole_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let ours = [0, 20, u32::MAX].map(|number| at(&disk_file(number)));
        let theirs = [
            "wincsi-suite-disk-.vhdx",
            "wincsi-suite-disk-1.vhd",
            "wincsi-suite-disk-1a.vhdx",
            "wincsi-suite-disk-1.vhdx.bak",
            "my-wincsi-suite-disk-1.vhdx",
            "disk-1.vhdx",
            LOCK,
        ];
        for file in theirs.map(at).iter().chain(&ours) {
            fs::write(file, "a disk").expect("a file");
        }
        fs::create_dir(at(&disk_file(3))).expect("a folder");
        assert_eq!(disk_files(folder.path()).expect("a list"), ours);
        assert_eq!(disk_files(&at("never")).expect("a list"), [""; 0].map(at));
    }

    /// A user's has 20 characters at most.
    #[test]
    fn every_name_says_whose_it_is() {
        let names = SERVICES.iter().chain([&SHARE, &USER, &EVENT_SOURCE, &LOCK]);
        for name in names {
            assert!(name.starts_with("wincsi-suite"), "{name}");
        }
        assert!(USER.len() <= 20);
    }
}
