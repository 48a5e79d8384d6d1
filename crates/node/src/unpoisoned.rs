use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A mutex that a panic of another thread leaves as it is: that cannot have left its value half changed, as nothing that
/// holds it can panic.
#[derive(Debug, Default)]
pub(crate) struct Unpoisoned<T>(Mutex<T>);

impl<T> Unpoisoned<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits to be woken, and returns whether it was.
pub(crate) fn wait<'a, T>(
    woken: &Condvar,
    held: MutexGuard<'a, T>,
    at_most: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let waited = woken.wait_timeout(held, at_most);
    let (held, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    (held, !waited.timed_out())
}
