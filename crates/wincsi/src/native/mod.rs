#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod target;

use crate::Os;

/// The native node is Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is a native node on Windows only")]
pub struct NotWindows;

/// The machine that this runs on: a driver in a HostProcess container, as an administrator. `source` is the name
/// under which events come into the event log.
///
/// # Errors
/// On any other system than Windows.
pub fn native(source: &str) -> Result<Os, NotWindows> {
    target::node(source)
}
