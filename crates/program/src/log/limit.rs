//! How often the libraries below may say the same.
//!
//! Clients can cause some of their warnings at will (such as h2's about reset streams), and none of
//! the libraries limits them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::Metadata;
use tracing::callsite::Identifier;

/// Lets a place in the source speak once in each interval.
#[derive(Default)]
pub(super) struct Limit(Mutex<HashMap<Identifier, Spoken>>);

struct Spoken {
    last: Instant,
    held_back: u64,
}

impl Limit {
    const INTERVAL: Duration = Duration::from_secs(10);

    /// Whether this place's line is written: if so, how many before it were not.
    pub(super) fn pass(&self, metadata: &Metadata<'_>) -> Option<u64> {
        self.pass_at(metadata, Instant::now())
    }

    fn pass_at(&self, metadata: &Metadata<'_>, now: Instant) -> Option<u64> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Spoken {
            last: now,
            held_back: 0,
        };
        let Some(spoken) = places.get_mut(&metadata.callsite()) else {
            places.insert(metadata.callsite(), first);
            return Some(0);
        };
        if now.saturating_duration_since(spoken.last) < Self::INTERVAL {
            spoken.held_back += 1;
            return None;
        }
        Some(std::mem::replace(spoken, first).held_back)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing::Subscriber;
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

    use super::*;

    /// Queries the limit at each event, with the event's own time.
    struct Asking {
        limit: Limit,
        start: Instant,
        passed: Arc<Mutex<Vec<Option<u64>>>>,
    }

    impl<S: Subscriber> Layer<S> for Asking {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            let mut seconds = Seconds(0);
            event.record(&mut seconds);
            let now = self.start + Duration::from_secs(seconds.0);
            let passed = self.limit.pass_at(event.metadata(), now);
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
}
