//! The console's control events.

// UNSAFETY: the system calls a function of ours, registered by a foreign function.
#![expect(unsafe_code)]

use std::sync::OnceLock;

use os::Win32;
use windows_sys::Win32::Foundation::STATUS_CONTROL_C_EXIT;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};
use windows_sys::core::BOOL;

use super::outcome;

/// Returns whether the event was handled; otherwise the system's own handler ends the process. Called on a thread of
/// the system, a new one for each event.
pub(crate) type Handler = Box<dyn Fn(u32) -> bool + Send + Sync>;

/// Has every control event of the console go to `handler` from now on (`SetConsoleCtrlHandler`).
pub(crate) fn handle(handler: Handler) -> Result<(), Win32> {
    if HANDLER.set(handler).is_err() {
        return Err(Win32::ALREADY_EXISTS);
    }
    // SAFETY: the function has the call's type, and lives as long as the process.
    outcome(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })
}

/// Ends this process as the system's own handler does, but without a word to its libraries.
///
/// The system's handler calls `ExitProcess`: it ends the other threads anywhere and then runs the libraries' code. If a
/// thread held a lock of theirs, the process never ends
/// (<https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-exitprocess>).
pub(crate) fn end_process() {
    // SAFETY: the handle stands for this process, and is always open.
    unsafe { TerminateProcess(GetCurrentProcess(), STATUS_CONTROL_C_EXIT.cast_unsigned()) };
}

static HANDLER: OnceLock<Handler> = OnceLock::new();

unsafe extern "system" fn on_event(event: u32) -> BOOL {
    HANDLER.get().is_some_and(|handler| handler(event)).into()
}
