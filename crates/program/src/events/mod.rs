//! The event log of the machine, where it has one.

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod target;

use crate::hidden;

/// Reports a warning under this source. If the machine refuses it, the event is lost; the log has it too.
pub fn report(source: &str, message: &str) {
    target::report(source, &hidden::shown(message));
}
