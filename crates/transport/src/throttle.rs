//! Throttles log lines that clients can cause at will.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lets the first event through, and then one in each interval.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When the last one was let through.
    last: Option<Instant>,
    held_back: u64,
}

impl Throttle {
    const INTERVAL: Duration = Duration::from_secs(10);

    /// Whether an event is to be logged: if so, how many before it were not.
    pub(crate) fn pass(&self) -> Option<u64> {
        self.pass_at(Instant::now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_early = |last| now.saturating_duration_since(last) < Self::INTERVAL;
        if state.last.is_some_and(is_early) {
            state.held_back += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards: P33
    #[test]
    fn the_first_is_logged_and_then_one_an_interval_with_the_number_held_back() {
        let throttle = Throttle::default();
        let start = Instant::now();
        let at = |millis| throttle.pass_at(start + Duration::from_millis(millis));
        assert_eq!(at(0), Some(0));
        assert!((1..=500).all(|millis| at(millis).is_none()));
        assert_eq!(at(9_999), None);
        assert_eq!(at(10_000), Some(501));
        assert_eq!(at(10_001), None);
        assert_eq!(at(60_000), Some(1));
        assert_eq!(at(90_000), Some(0));
    }
}
