//! Remembers how long methods take.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A method whose last calls all took longer runs on a thread without connections.
const SLOW: Duration = Duration::from_millis(1);
/// The unit of stored times: sixteen bits of it are half a second, the longest time stored.
const UNIT: Duration = Duration::from_micros(8);
/// How many calls are remembered, sixteen bits each.
const KEPT: u32 = 4;
const PLACES: usize = 256;

/// The last times of the methods, by a hash of their path. Two methods with one place make each
/// other look faster, at a cost of time alone.
///
/// The shortest of them counts: on a busy machine any call may wait for a processor, four in a row
/// rarely do, and every method that looks slow costs a thread.
#[derive(Debug)]
pub(crate) struct Pace(Box<[AtomicU64; PLACES]>);

impl Pace {
    pub(super) fn new() -> Self {
        Self(Box::new([const { AtomicU64::new(0) }; PLACES]))
    }

    /// Whether calls of `method` took long lately.
    pub(crate) fn is_slow(&self, method: &str) -> bool {
        shortest(self.place(method).load(Relaxed)) > units(SLOW)
    }

    /// Notes a call; the last four count. If two end at once, one may be lost.
    pub(crate) fn note(&self, method: &str, took: Duration) {
        let place = self.place(method);
        place.store(
            place.load(Relaxed) << u16::BITS | u64::from(units(took)),
            Relaxed,
        );
    }

    fn place(&self, method: &str) -> &AtomicU64 {
        // FNV-1a: a few bytes, and a chosen collision gains nothing.
        let fold = |hash: usize, byte: u8| (hash ^ usize::from(byte)).wrapping_mul(16_777_619);
        let hash = method.bytes().fold(2_166_136_261, fold);
        &self.0[hash % PLACES]
    }
}

fn units(took: Duration) -> u16 {
    u16::try_from(took.as_micros() / UNIT.as_micros()).unwrap_or(u16::MAX)
}

fn shortest(kept: u64) -> u16 {
    let each = (0..KEPT).map(|call| (kept >> (call * u16::BITS)) & u64::from(u16::MAX));
    each.min()
        .and_then(|units| u16::try_from(units).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: &[Duration]) -> Pace {
        let pace = Pace::new();
        times
            .iter()
            .for_each(|took| pace.note("/v1.Disk/Rescan", *took));
        pace
    }

    #[test]
    fn slow_calls_are_noticed_and_forgotten_again() {
        let slow = [Duration::from_millis(50); 4];
        assert!(!after(&[]).is_slow("/v1.Disk/Rescan"));
        assert!(after(&slow).is_slow("/v1.Disk/Rescan"));
        let pace = after(&slow);
        pace.note("/v1.Disk/Rescan", Duration::from_micros(10));
        assert!(
            !pace.is_slow("/v1.Disk/Rescan"),
            "one fast call shows that the method can be fast"
        );
    }

    #[test]
    fn a_fast_method_is_not_slow_for_calls_that_were_not_let_run() {
        let held_up = Duration::from_secs(1);
        assert!(
            !after(&[held_up; 3]).is_slow("/v1.Disk/Rescan"),
            "before four calls were seen"
        );
        let between = [held_up, held_up, Duration::from_micros(20), held_up];
        assert!(!after(&between).is_slow("/v1.Disk/Rescan"));
    }

    #[test]
    fn calls_of_less_than_a_millisecond_are_not_slow() {
        assert!(!after(&[Duration::from_micros(990); 4]).is_slow("/v1.Disk/Rescan"));
        assert!(after(&[Duration::from_micros(1_010); 4]).is_slow("/v1.Disk/Rescan"));
    }

    #[test]
    fn the_longest_time_does_not_overflow() {
        assert!(after(&[Duration::MAX; 100]).is_slow("/v1.Disk/Rescan"));
    }
}
