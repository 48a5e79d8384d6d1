//! How often the log may say the same.
//!
//! Clients can cause some warnings of the libraries at will (such as h2's about reset streams), and
//! none of the libraries limits them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lets a place in the source, or a text, speak once in ten seconds.
pub struct Limit<K>(Mutex<HashMap<K, Spoken>>);

struct Spoken {
    last: Instant,
    held_back: u64,
}

impl<K: Eq + Hash> Limit<K> {
    const INTERVAL: Duration = Duration::from_secs(10);
    /// Clients may choose texts: at this many, all are forgotten.
    const MOST: usize = 1_000;

    /// Whether its line is written: if so, how many before it were not.
    pub fn pass(&self, key: K) -> Option<u64> {
        self.pass_at(key, Instant::now())
    }

    fn pass_at(&self, key: K, now: Instant) -> Option<u64> {
        let mut spoken_of = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Spoken {
            last: now,
            held_back: 0,
        };
        let Some(spoken) = spoken_of.get_mut(&key) else {
            if spoken_of.len() == Self::MOST {
                spoken_of.clear();
            }
            spoken_of.insert(key, first);
            return Some(0);
        };
        if now.saturating_duration_since(spoken.last) < Self::INTERVAL {
            spoken.held_back += 1;
            return None;
        }
        Some(std::mem::replace(spoken, first).held_back)
    }
}

impl<K> Default for Limit<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing::Subscriber;
    use tracing::callsite::Identifier;
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

    use super::*;

    /// Queries the limit at each event, with the event's own time.
    struct Asking {
        limit: Limit<Identifier>,
        start: Instant,
        passed: Arc<Mutex<Vec<Option<u64>>>>,
    }

    impl<S: Subscriber> Layer<S> for Asking {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            let mut seconds = Seconds(0);
            event.record(&mut seconds);
            let now = self.start + Duration::from_secs(seconds.0);
            let passed = self.limit.pass_at(event.metadata().callsite(), now);
            self.passed.lock().expect("no panic").push(passed);
        }
    }

    struct Seconds(u64);

    impl tracing::field::Visit for Seconds {
        fn record_u64(&mut self, _: &tracing::field::Field, value: u64) {
            self.0 = value;
        }

        fn record_debug(&mut self, _: &tracing::field::Field, _: &dyn std::fmt::Debug) {}
    }

    /// Guards: P33
    #[test]
    fn a_place_speaks_once_in_ten_seconds_and_tells_how_many_lines_were_held_back() {
        let passed = Arc::<Mutex<Vec<Option<u64>>>>::default();
        let asking = Asking {
            limit: Limit::default(),
            start: Instant::now(),
            passed: Arc::clone(&passed),
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(asking), || {
            for at in [0u64, 1, 9, 10, 11] {
                tracing::warn!(target: "h2::proto", at);
            }
            tracing::warn!(target: "h2::proto", at = 11u64, "another place");
        });
        let passed = passed.lock().expect("no panic");
        assert_eq!(*passed, [Some(0), None, None, Some(2), None, Some(0)]);
    }

    #[test]
    fn texts_have_their_end() {
        let (limit, now) = (Limit::default(), Instant::now());
        for text in 0..Limit::<usize>::MOST {
            assert_eq!(limit.pass_at(text, now), Some(0));
            assert_eq!(limit.pass_at(text, now), None);
        }
        assert_eq!(limit.pass_at(usize::MAX, now), Some(0));
        assert_eq!(limit.0.lock().expect("no panic").len(), 1);
    }
}
