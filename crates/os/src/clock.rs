use std::time::Duration;

/// A point of a node's monotonic time: the time since the node's clock began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment(pub Duration);

impl Moment {
    /// The moment `duration` later; saturates.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    /// How long it is from here until `later`; zero when that has passed.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        later.0.saturating_sub(self.0)
    }
}

/// The moment by which a call must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(pub Moment);

impl Deadline {
    /// No bound at all: for tools and tests, not for serving requests.
    pub const NEVER: Self = Self(Moment(Duration::MAX));

    /// The deadline `duration` from now, by `clock`.
    pub fn within(clock: &dyn Clock, duration: Duration) -> Self {
        Self(clock.now().after(duration))
    }

    /// The time that is left; `None` when it has passed.
    pub fn left(self, clock: &dyn Clock) -> Option<Duration> {
        let left = clock.now().until(self.0);
        (!left.is_zero()).then_some(left)
    }
}

/// The node's clock. The simulated node's may be virtual, so that waits cost no time in tests.
pub trait Clock: Send + Sync {
    /// The present moment; never goes back.
    fn now(&self) -> Moment;

    /// The wall clock, as time since the Unix epoch.
    fn wall(&self) -> Duration;

    /// Lets `duration` pass.
    fn sleep(&self, duration: Duration);
}
