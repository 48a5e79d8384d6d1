use std::iter;
use std::path::Path;

use libtest_mimic::Trial;

/// Here they take minutes under Wine, and would see the same as on Linux: the simulated node.
pub(crate) fn experiments() -> impl Iterator<Item = Trial> {
    iter::empty()
}

/// How many handles this process has open; Wine 8 counts none.
pub(crate) fn handles() -> os::Result<u64> {
    Ok(u64::from(os_windows::process_usage()?.handles))
}

/// Wine 8 has no Unix sockets, and these are the machine's and not simulated.
pub(crate) fn has(case: &str) -> bool {
    !case.starts_with("sockets::")
}

pub(crate) fn is_closed(_folder: &Path) -> os::Result<bool> {
    unreachable!("no case asks")
}
