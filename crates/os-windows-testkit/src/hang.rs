use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use os::schema::Namespace;

/// The hung step between client and provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hanging {
    /// A connection to this namespace is not made: the call for it does not return.
    Connection(Namespace),
    /// The definition of the class of this name does not come (`GetObject`).
    Definition(&'static str),
}

/// Calls hang as long as this lives; then they go on.
#[derive(Debug)]
pub struct Hang(Arc<Gate>);

impl Hang {
    pub(crate) fn new() -> (Self, Arc<Gate>) {
        let gate = Arc::new(Gate::default());
        (Self(Arc::clone(&gate)), gate)
    }

    /// How many calls hang now.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.0.lock().calls
    }

    /// Waits until at least `calls` calls hang, for at most `patience`.
    #[must_use]
    pub fn wait_for(&self, calls: usize, patience: Duration) -> bool {
        let changed = &self.0.changed;
        let waited = changed.wait_timeout_while(self.0.lock(), patience, |it| it.calls < calls);
        waited.unwrap_or_else(PoisonError::into_inner).0.calls >= calls
    }
}

impl Drop for Hang {
    fn drop(&mut self) {
        self.0.lock().is_open = true;
        self.0.changed.notify_all();
    }
}

/// A gate where calls hang.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    calls: usize,
    is_open: bool,
}

impl Gate {
    /// Whether nothing hangs here any more.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().is_open
    }

    pub(crate) fn pass(&self) {
        let mut state = self.lock();
        state.calls += 1;
        self.changed.notify_all();
        let waited = self.changed.wait_while(state, |it| !it.is_open);
        waited.unwrap_or_else(PoisonError::into_inner).calls -= 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
