//! What calls for one server tell each other while they wait to make a mapping there.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::provider::ProviderError;

/// The calls that make mappings, or wait to, by their server.
#[derive(Default)]
pub(crate) struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    servers: BTreeMap<String, Queue>,
}

#[derive(Default)]
struct Queue {
    callers: usize,
    /// When a mapping failed because the server is away, and how.
    away: Option<(u64, ProviderError)>,
}

/// A call that makes a mapping, from before it waits for the lock of the server.
///
/// A dead server takes up to a minute to fail one mapping. So who waited meanwhile ends with that outcome: fifty
/// shares of it take as long as one.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    server: String,
    since: u64,
    /// Whether others had the lock first, so that what was seen before may be over.
    pub(super) has_waited: bool,
}

impl Turns {
    pub(super) fn begin(&self, server: String) -> Turn<'_> {
        let mut state = self.state();
        state.next += 1;
        let since = state.next;
        state.servers.entry(server.clone()).or_default().callers += 1;
        Turn {
            turns: self,
            server,
            since,
            has_waited: false,
        }
    }

    /// A panic elsewhere cannot leave the map half changed: nothing in here can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// How a mapping failed, because the server is away, while this one waited.
    pub(super) fn away(&self) -> Option<ProviderError> {
        let state = self.turns.state();
        let (at, error) = state.servers.get(&self.server)?.away.as_ref()?;
        (*at > self.since).then(|| error.clone())
    }

    /// To be called when a mapping failed because the server is away.
    pub(super) fn found_away(&self, error: &ProviderError) {
        let mut state = self.turns.state();
        state.next += 1;
        let now = state.next;
        if let Some(queue) = state.servers.get_mut(&self.server) {
            queue.away = Some((now, error.clone()));
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        let Some(queue) = state.servers.get_mut(&self.server) else {
            return;
        };
        queue.callers -= 1;
        if queue.callers == 0 {
            state.servers.remove(&self.server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_before_a_failure_hears_of_it_and_who_comes_after_does_not() {
        let turns = Turns::default();
        let error = ProviderError::not_found(&"x");
        let (first, waiting) = (turns.begin("s".to_owned()), turns.begin("s".to_owned()));
        let elsewhere = turns.begin("other".to_owned());
        assert_eq!(waiting.away(), None);
        first.found_away(&error);
        drop(first);
        let late = turns.begin("s".to_owned());
        assert_eq!(waiting.away(), Some(error));
        assert_eq!((late.away(), elsewhere.away()), (None, None));
        drop((waiting, late, elsewhere));
        assert!(turns.state().servers.is_empty());
    }
}
