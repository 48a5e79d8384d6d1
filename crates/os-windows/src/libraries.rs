use os::Result;

use crate::failure;
use crate::raw::libraries;

/// Has the process look for libraries in System32 and nowhere else from now on, unless they are named with their path:
/// not in the program's folder, where somebody may have put one. It cannot be undone. What the program imports was
/// loaded before.
///
/// # Errors
/// The system refuses.
pub fn search_system32_only() -> Result<()> {
    libraries::search_system32_only()
        .map_err(|code| failure::error("SetDefaultDllDirectories", "this process", code))
}
