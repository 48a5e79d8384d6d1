//! Retries with growing pauses, until success or an end from outside.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The pause after the first failed try; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Retries by a thread that others can end.
#[derive(Default)]
pub struct Retry {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Retry {
    /// Has the tries end.
    pub fn end(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    pub fn is_over(&self) -> bool {
        *self.lock()
    }

    /// Calls `attempt` after each pause, with the pause that follows it, until it returns a value; `None` if the tries
    /// end before.
    pub fn until<T>(
        &self,
        longest_pause: Duration,
        mut attempt: impl FnMut(Duration) -> Option<T>,
    ) -> Option<T> {
        let mut pause = FIRST_PAUSE;
        while self.rest(pause) {
            pause = longest_pause.min(2 * pause);
            if let Some(done) = attempt(pause) {
                return Some(done);
            }
        }
        None
    }

    /// Waits; false when the tries are to end.
    fn rest(&self, pause: Duration) -> bool {
        let goes_on = |is_over: &mut bool| !*is_over;
        let waited = self.changed.wait_timeout_while(self.lock(), pause, goes_on);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
