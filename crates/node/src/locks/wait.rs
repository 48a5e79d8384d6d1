use std::time::Duration;

use os::{Clock, Deadline};

/// How long an operation waits for a lock.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    pub(super) deadline: Deadline,
    /// For its turn, if that is bounded by itself.
    at_most: Duration,
}

impl Wait {
    /// Until the deadline, and no longer than that for its turn with one object.
    pub(crate) fn at_most(at_most: Duration, deadline: Deadline) -> Self {
        Self { deadline, at_most }
    }

    pub(super) fn turn(self, clock: &dyn Clock) -> Deadline {
        self.deadline.min(Deadline::within(clock, self.at_most))
    }
}

impl From<Deadline> for Wait {
    fn from(deadline: Deadline) -> Self {
        Self::at_most(Duration::MAX, deadline)
    }
}
