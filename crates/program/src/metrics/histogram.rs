use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::exposition::Exposition;

/// How many durations lie below each of `N` bounds, and their sum.
pub(super) struct Histogram<const N: usize> {
    /// In seconds, ascending.
    bounds: &'static [f64; N],
    below: [AtomicU64; N],
    above: AtomicU64,
    sum_nanos: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    pub(super) fn new(bounds: &'static [f64; N]) -> Self {
        Self {
            bounds,
            below: [const { AtomicU64::new(0) }; N],
            above: AtomicU64::new(0),
            sum_nanos: AtomicU64::new(0),
        }
    }

    pub(super) fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = self.bounds.iter().position(|bound| seconds <= *bound);
        let count = bucket.map_or(&self.above, |bucket| &self.below[bucket]);
        count.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The samples of one series. The count is that of the last bucket, as required, even while
    /// others observe.
    pub(super) fn render(&self, page: &mut Exposition, name: &str, labels: &[(&str, &str)]) {
        let bucket = format!("{name}_bucket");
        let mut total = 0;
        for (bound, count) in self.bounds.iter().zip(&self.below) {
            total += count.load(Ordering::Relaxed);
            page.sample(&bucket, &with_bound(labels, &bound.to_string()), total);
        }
        total += self.above.load(Ordering::Relaxed);
        page.sample(&bucket, &with_bound(labels, "+Inf"), total);
        let sum = Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed));
        page.sample(&format!("{name}_sum"), labels, sum.as_secs_f64());
        page.sample(&format!("{name}_count"), labels, total);
    }
}

fn with_bound<'a>(labels: &[(&'a str, &'a str)], bound: &'a str) -> Vec<(&'a str, &'a str)> {
    [labels, &[("le", bound)]].concat()
}
