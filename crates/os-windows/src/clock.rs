use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use os::{Clock, Moment};

/// The machine's clock; its moments count from its own making.
#[derive(Debug, Clone, Copy)]
pub struct NativeClock {
    began: Instant,
}

impl NativeClock {
    /// A clock that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Default for NativeClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for NativeClock {
    fn now(&self) -> Moment {
        Moment(self.began.elapsed())
    }

    fn wall(&self) -> Duration {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default()
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}
