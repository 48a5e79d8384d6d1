use os::Result;

use crate::failure;
use crate::raw::libraries;

/// Limits the process's search for libraries to System32 from now on, unless they are named with their path: not the
/// program's folder, where another user may have put one. It cannot be undone. The program's imports were loaded
/// before.
///
/// # Errors
/// The system refuses.
pub fn search_system32_only() -> Result<()> {
    libraries::search_system32_only()
        .map_err(|code| failure::error("SetDefaultDllDirectories", "this process", code))
}
