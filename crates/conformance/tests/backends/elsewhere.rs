use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libtest_mimic::Trial;
use os::{Error, Win32};

/// On the simulated node.
pub(crate) const MAKES_EXPERIMENTS: bool = true;

/// Only the simulator runs here.
pub(crate) fn trials() -> Vec<Trial> {
    Vec::new()
}

/// How many descriptors this process has open.
pub(crate) fn handles() -> os::Result<u64> {
    let open = fs::read_dir("/proc/self/fd");
    let open = open.map_err(|_| Error::new("list", "/proc/self/fd", Win32::NOT_SUPPORTED))?;
    Ok(u64::try_from(open.count()).unwrap_or(u64::MAX))
}

/// Every case's needs are met.
pub(crate) fn has(_case: &str) -> bool {
    true
}

pub(crate) fn is_closed(folder: &Path) -> os::Result<bool> {
    let found = fs::metadata(folder);
    let found = found.map_err(|_| Error::new("stat", folder.display(), Win32::NOT_SUPPORTED))?;
    Ok(found.permissions().mode() & 0o077 == 0)
}
