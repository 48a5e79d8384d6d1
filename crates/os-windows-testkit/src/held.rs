use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts held objects.
#[derive(Clone, Default)]
pub(crate) struct HeldCount(Arc<Shared>);

#[derive(Default)]
struct Shared {
    count: Mutex<usize>,
    fell: Condvar,
}

/// Counts as long as it lives.
pub(crate) struct Token(HeldCount);

impl HeldCount {
    pub(crate) fn take(&self) -> Token {
        *self.lock() += 1;
        Token(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        *self.lock()
    }

    /// Waits until at most `most` are held, for at most `patience`.
    pub(crate) fn wait_for(&self, most: usize, patience: Duration) -> bool {
        let waited = self
            .0
            .fell
            .wait_timeout_while(self.lock(), patience, |count| *count > most);
        *waited.unwrap_or_else(PoisonError::into_inner).0 <= most
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.0.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.0.fell.notify_all();
    }
}
