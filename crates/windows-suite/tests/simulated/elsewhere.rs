use libtest_mimic::Trial;
use os::{Error, Win32};

/// The experiments on the simulated node.
pub(crate) fn experiments() -> impl Iterator<Item = Trial> {
    super::experiments::trials()
}

/// How many descriptors this process has open.
pub(crate) fn handles() -> os::Result<u64> {
    let open = std::fs::read_dir("/proc/self/fd");
    let open = open.map_err(|_| Error::new("list", "/proc/self/fd", Win32::NOT_SUPPORTED))?;
    Ok(u64::try_from(open.count()).unwrap_or(u64::MAX))
}
