use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use os::{Clock, Moment};

/// How time passes on a simulated node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockMode {
    /// As in the world: for servers.
    Real,
    /// Only by sleeping, which takes no time: for tests.
    Virtual,
}

/// The node's time. It goes on where the node was left when its folder is opened again.
#[derive(Debug)]
pub(crate) enum NodeClock {
    Real { opened: Instant, before: Duration },
    Virtual { elapsed: Mutex<Duration> },
}

/// Where a virtual wall clock begins: 2026-01-01 00:00 UTC.
const VIRTUAL_EPOCH: Duration = Duration::from_secs(1_767_225_600);

impl NodeClock {
    /// A clock that has run for `before` already.
    pub(crate) fn new(mode: ClockMode, before: Duration) -> Self {
        match mode {
            ClockMode::Real => Self::Real {
                opened: Instant::now(),
                before,
            },
            ClockMode::Virtual => Self::Virtual {
                elapsed: Mutex::new(before),
            },
        }
    }

    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Real { .. })
    }
}

impl Clock for NodeClock {
    fn now(&self) -> Moment {
        match self {
            Self::Real { opened, before } => Moment(*before).after(opened.elapsed()),
            Self::Virtual { elapsed } => Moment(*locked(elapsed)),
        }
    }

    fn wall(&self) -> Duration {
        match self {
            Self::Real { .. } => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            Self::Virtual { elapsed } => VIRTUAL_EPOCH.saturating_add(*locked(elapsed)),
        }
    }

    fn sleep(&self, duration: Duration) {
        match self {
            Self::Real { .. } => std::thread::sleep(duration),
            Self::Virtual { elapsed } => {
                let mut elapsed = locked(elapsed);
                *elapsed = elapsed.saturating_add(duration);
            }
        }
    }
}

fn locked(elapsed: &Mutex<Duration>) -> MutexGuard<'_, Duration> {
    elapsed.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use os::{Clock, Moment};

    use super::{ClockMode, NodeClock};

    #[test]
    fn a_virtual_clock_moves_by_sleeping_alone() {
        let clock = NodeClock::new(ClockMode::Virtual, Duration::from_secs(5));
        let wall = clock.wall();
        clock.sleep(Duration::from_secs(3600));
        assert_eq!(clock.now(), Moment(Duration::from_secs(3605)));
        assert_eq!(clock.wall() - wall, Duration::from_secs(3600));
    }

    #[test]
    fn a_real_clock_goes_on_where_it_stopped() {
        let clock = NodeClock::new(ClockMode::Real, Duration::from_secs(7));
        assert!(clock.now() >= Moment(Duration::from_secs(7)));
    }
}
