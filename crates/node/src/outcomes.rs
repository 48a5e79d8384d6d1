//! Results that calls for one object share while they wait for its lock (single flight).

use std::collections::HashMap;
use std::hash::Hash;

use crate::unpoisoned::Unpoisoned;

/// The calls under way for each object, and its latest published outcome for each `A`.
pub(crate) struct Outcomes<K: Eq + Hash, T, A = ()> {
    state: Unpoisoned<State<K, T, A>>,
}

/// A call for an object, from before it waits for the object's lock.
///
/// An outcome that began after the call arrived is valid for it. So of the calls that wait for one object, the first
/// acts for all.
pub(crate) struct PendingCall<'a, K: Eq + Hash, T, A = ()> {
    outcomes: &'a Outcomes<K, T, A>,
    object: K,
    since: Moment,
}

/// A point in the order of calls and outcomes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

struct State<K, T, A> {
    latest: u64,
    objects: HashMap<K, Object<T, A>>,
}

struct Object<T, A> {
    callers: usize,
    published: HashMap<A, (Moment, T)>,
}

impl<K: Eq + Hash, T, A> Default for Outcomes<K, T, A> {
    fn default() -> Self {
        let state = State {
            latest: 0,
            objects: HashMap::new(),
        };
        Self {
            state: Unpoisoned::new(state),
        }
    }
}

impl<K: Eq + Hash, T, A> Outcomes<K, T, A> {
    pub(crate) fn begin(&self, object: K) -> PendingCall<'_, K, T, A>
    where
        K: Clone,
    {
        let since = self.now();
        let new = || Object {
            callers: 0,
            published: HashMap::new(),
        };
        let mut state = self.state.lock();
        let found = state.objects.entry(object.clone()).or_insert_with(new);
        found.callers += 1;
        PendingCall {
            outcomes: self,
            object,
            since,
        }
    }

    pub(crate) fn now(&self) -> Moment {
        let mut state = self.state.lock();
        state.latest += 1;
        Moment(state.latest)
    }

    /// Publishes to the calls for an object an outcome that began, or was reached, at this moment.
    pub(crate) fn publish(&self, object: &K, about: A, (at, outcome): (Moment, T))
    where
        A: Eq + Hash,
    {
        if let Some(object) = self.state.lock().objects.get_mut(object) {
            object.published.insert(about, (at, outcome));
        }
    }
}

impl<K: Eq + Hash, T: Clone, A: Eq + Hash> PendingCall<'_, K, T, A> {
    /// The outcome that another call published, if it began after this call arrived.
    pub(crate) fn published(&self, about: &A) -> Option<T> {
        let state = self.outcomes.state.lock();
        let (at, outcome) = state.objects.get(&self.object)?.published.get(about)?;
        (*at > self.since).then(|| outcome.clone())
    }

    pub(crate) fn now(&self) -> Moment {
        self.outcomes.now()
    }

    /// See [`Outcomes::publish`].
    pub(crate) fn publish(&self, about: A, outcome: (Moment, T)) {
        self.outcomes.publish(&self.object, about, outcome);
    }

    /// To be called when the published outcomes no longer hold.
    pub(crate) fn forget(&self) {
        if let Some(object) = self.outcomes.state.lock().objects.get_mut(&self.object) {
            object.published.clear();
        }
    }
}

impl<K: Eq + Hash, T, A> Drop for PendingCall<'_, K, T, A> {
    fn drop(&mut self) {
        let mut state = self.outcomes.state.lock();
        let Some(object) = state.objects.get_mut(&self.object) else {
            return;
        };
        object.callers -= 1;
        if object.callers == 0 {
            state.objects.remove(&self.object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_before_an_outcome_hears_of_it_and_who_comes_after_does_not() {
        let outcomes = Outcomes::<_, _, &str>::default();
        let (first, waiting) = (outcomes.begin("s"), outcomes.begin("s"));
        let elsewhere = outcomes.begin("other");
        let began = first.now();
        let during = outcomes.begin("s");
        assert_eq!(waiting.published(&"root"), None);
        first.publish("root", (began, 1));
        drop(first);
        let after = outcomes.begin("s");
        assert_eq!(waiting.published(&"root"), Some(1));
        assert_eq!(waiting.published(&"folder"), None);
        for other in [&during, &after, &elsewhere] {
            assert_eq!(other.published(&"root"), None);
        }
        after.forget();
        assert_eq!(waiting.published(&"root"), None, "it is over");
        drop((waiting, during, after));
        let again = outcomes.begin("s");
        assert_eq!(again.published(&"root"), None);
        drop((again, elsewhere));
        assert!(outcomes.state.lock().objects.is_empty());
    }
}
