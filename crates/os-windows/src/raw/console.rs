//! The console's control events.

// UNSAFETY: the system calls a function of ours, and is told of it by a foreign function.
#![expect(unsafe_code)]

use std::sync::OnceLock;

use os::Win32;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::core::BOOL;

use super::outcome;

/// Answers whether the event was dealt with; what was not goes to the system's own handler, which ends
/// the process. Called on a thread that the system makes for each event.
pub(crate) type Handler = Box<dyn Fn(u32) -> bool + Send + Sync>;

/// Has every control event of the console go to `handler` from now on (`SetConsoleCtrlHandler`).
pub(crate) fn handle(handler: Handler) -> Result<(), Win32> {
    if HANDLER.set(handler).is_err() {
        return Err(Win32::ALREADY_EXISTS);
    }
    // SAFETY: the function has the type that the call wants, and lives as long as the process.
    outcome(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })
}

static HANDLER: OnceLock<Handler> = OnceLock::new();

unsafe extern "system" fn on_event(event: u32) -> BOOL {
    HANDLER.get().is_some_and(|handler| handler(event)).into()
}
