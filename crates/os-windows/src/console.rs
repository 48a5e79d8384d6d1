//! The ways a console, or a container, asks a program to end.
//!
//! # COM and the shutdown of the machine
//! A process that has user32.dll or gdi32.dll loaded gets no shutdown and no logoff event in its console handler
//! ([SetConsoleCtrlHandler](https://learn.microsoft.com/windows/console/setconsolectrlhandler)). COM's libraries load
//! user32.dll: Wine's do, and WMI's client on Windows may load more. The programs make no hidden window against that,
//! because they do not depend on these events:
//! - The service control manager tells a service to stop; windows play no part.
//! - In a HostProcess container the runtime starts a thread at `CtrlRoutine` in the process
//!   ([hcsshim](https://github.com/microsoft/hcsshim/blob/main/internal/jobcontainers/process.go)). This thread calls
//!   the handler whether or not user32.dll is loaded. `console` of this crate tests it with user32.dll loaded, `ends`
//!   and `native` of `program` test the whole exe; all three run under Wine.
//! - Ctrl-C, Ctrl-Break and the closing of a console are other events.
//! - A program without the manager dies undrained when the machine shuts down. Windows notifies only services
//!   ([HandlerRoutine](https://learn.microsoft.com/windows/console/handlerroutine)), and every operation may be cut
//!   off.
//!
//! If COM were loaded later, the events would depend on earlier calls. combase.dll instead of ole32.dll would still
//! load oleaut32.dll and WMI's client, and it is not documented what these load. The exe itself imports nothing of
//! user32.dll and gdi32.dll, as `imports` of `proxy` tests.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use os::Win32;
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
};

use crate::raw::console;

/// Receives the requests to end the process: Ctrl-C, Ctrl-Break, the console's closing, and the shutdown of the machine
/// or of a container.
///
/// [`EndRequests::wait`] returns at the first request; the process then has time to end by itself. A second one after
/// Ctrl-C or Ctrl-Break ends it at once. After the others no second one arrives, since the first holds the system's
/// thread; there the system ends the process at a time of its own.
pub struct EndRequests(Arc<Shared>);

impl EndRequests {
    /// Listens from now on, once in a process.
    ///
    /// # Errors
    /// The process listens already, or the system takes no handler.
    pub fn listen() -> Result<Self, Win32> {
        let shared = Arc::new(Shared::default());
        let handler = Arc::clone(&shared);
        console::handle(Box::new(move |event| handler.on_event(event)))?;
        Ok(Self(shared))
    }

    /// Waits for a request to end the process.
    pub fn wait(&self) {
        let asked = self.0.asked();
        let waited = self.0.changed.wait_while(asked, |asked| !*asked);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

#[derive(Default)]
struct Shared {
    asked: Mutex<bool>,
    changed: Condvar,
}

/// The reaction to a control event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// The process goes on to end by itself.
    Handled,
    /// Windows ends the process when the handler returns, so it does not.
    Hold,
    /// The process ends at once.
    End,
    /// It is left to the system's own handler.
    Leave,
}

impl Shared {
    fn on_event(&self, event: u32) -> bool {
        match self.reaction(event) {
            Reaction::Handled => true,
            Reaction::Hold => hold(),
            Reaction::End => {
                console::end_process();
                true
            }
            Reaction::Leave => false,
        }
    }

    fn reaction(&self, event: u32) -> Reaction {
        let kind = match event {
            CTRL_C_EVENT | CTRL_BREAK_EVENT => Reaction::Handled,
            CTRL_CLOSE_EVENT | CTRL_SHUTDOWN_EVENT => Reaction::Hold,
            // Any user's, and of no concern to a server: other users' sessions go on.
            CTRL_LOGOFF_EVENT => return Reaction::Handled,
            _ => return Reaction::Leave,
        };
        let mut asked = self.asked();
        if std::mem::replace(&mut asked, true) {
            return Reaction::End;
        }
        drop(asked);
        self.changed.notify_all();
        kind
    }

    fn asked(&self) -> MutexGuard<'_, bool> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the system's thread until the end of `main` ends the process.
fn hold() -> ! {
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::System::Console::{
        CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    };

    use super::{Reaction, Shared};

    #[test]
    fn the_first_request_is_heard_and_the_second_ends_the_process() {
        let requests = [
            (CTRL_C_EVENT, Reaction::Handled),
            (CTRL_BREAK_EVENT, Reaction::Handled),
            (CTRL_CLOSE_EVENT, Reaction::Hold),
            (CTRL_SHUTDOWN_EVENT, Reaction::Hold),
        ];
        for (event, reaction) in requests {
            let shared = Shared::default();
            assert_eq!(shared.reaction(event), reaction);
            assert!(*shared.asked());
            assert_eq!(shared.reaction(event), Reaction::End);
        }
    }

    #[test]
    fn a_users_logoff_ends_nothing() {
        let shared = Shared::default();
        assert_eq!(shared.reaction(CTRL_LOGOFF_EVENT), Reaction::Handled);
        assert!(!*shared.asked());
    }
}
