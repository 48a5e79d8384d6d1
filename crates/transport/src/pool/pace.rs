//! Remembers how long methods take.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// A method that takes longer is not run while other connections wait for the thread.
const SLOW: Duration = Duration::from_micros(300);
/// No call counts for more: on a busy machine a fast one that was not let run looks slow once, and one
/// of those must not cost its method the next calls' hand-overs.
const MOST: Duration = Duration::from_micros(1_200);
const PLACES: usize = 256;

/// The average time of the methods, in nanoseconds, by a hash of their path. Two methods that
/// share a place make each other look slower or faster, which costs time and nothing else.
#[derive(Debug)]
pub(crate) struct Pace(Box<[AtomicU32; PLACES]>);

impl Pace {
    pub(super) fn new() -> Self {
        Self(Box::new([const { AtomicU32::new(0) }; PLACES]))
    }

    /// Whether calls of `method` took long lately.
    pub(crate) fn is_slow(&self, method: &str) -> bool {
        u128::from(self.place(method).load(Relaxed)) > SLOW.as_nanos()
    }

    /// Notes a call; the last four or so count.
    pub(crate) fn note(&self, method: &str, took: Duration) {
        let took = u32::try_from(took.min(MOST).as_nanos()).unwrap_or(u32::MAX);
        let place = self.place(method);
        let before = place.load(Relaxed);
        place.store(before - before / 4 + took / 4, Relaxed);
    }

    fn place(&self, method: &str) -> &AtomicU32 {
        // FNV-1a: a few bytes that nobody chooses in bad faith to any gain.
        let fold = |hash: usize, byte: u8| (hash ^ usize::from(byte)).wrapping_mul(16_777_619);
        let hash = method.bytes().fold(2_166_136_261, fold);
        &self.0[hash % PLACES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_calls_are_noticed_and_forgotten_again() {
        let pace = Pace::new();
        assert!(!pace.is_slow("/v1.Disk/Rescan"));
        for _ in 0..2 {
            pace.note("/v1.Disk/Rescan", Duration::from_millis(50));
        }
        assert!(pace.is_slow("/v1.Disk/Rescan"));
        for _ in 0..5 {
            pace.note("/v1.Disk/Rescan", Duration::from_micros(10));
        }
        assert!(!pace.is_slow("/v1.Disk/Rescan"));
    }

    #[test]
    fn a_fast_method_is_not_slow_for_one_call_that_was_not_let_run() {
        let pace = Pace::new();
        pace.note("/v1.Filesystem/PathExists", Duration::from_secs(1));
        assert!(!pace.is_slow("/v1.Filesystem/PathExists"));
    }

    #[test]
    fn the_longest_time_does_not_overflow() {
        let pace = Pace::new();
        for _ in 0..100 {
            pace.note("/m", Duration::MAX);
        }
        assert!(pace.is_slow("/m"));
    }
}
