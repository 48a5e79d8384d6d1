//! The console's control events.

// UNSAFETY: the system calls a function of ours, and is told of it by a foreign function.
#![expect(unsafe_code)]

use std::sync::OnceLock;

use os::Win32;
use windows_sys::Win32::Foundation::STATUS_CONTROL_C_EXIT;
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};
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

/// Ends this process as the system's own handler does, but without a word to its libraries.
///
/// That handler calls `ExitProcess`, which ends the other threads wherever they are and then runs the
/// libraries' code: where a thread held a lock of theirs, the process never ends
/// (<https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-exitprocess>).
pub(crate) fn end_process() {
    // SAFETY: the handle stands for this process, and is always open.
    unsafe { TerminateProcess(GetCurrentProcess(), STATUS_CONTROL_C_EXIT.cast_unsigned()) };
}

static HANDLER: OnceLock<Handler> = OnceLock::new();

unsafe extern "system" fn on_event(event: u32) -> BOOL {
    HANDLER.get().is_some_and(|handler| handler(event)).into()
}
