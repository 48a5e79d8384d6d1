use std::time::Duration;

use os::{Clock, Deadline};

use super::Key;
use crate::in_flight::Object;
use crate::{Crowded, Unfinished};

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

/// Why a lock was not taken.
pub(super) enum Why {
    Busy {
        holder: &'static str,
        held: Duration,
    },
    Crowded(Crowded),
    Deadline,
    /// The holder is lost in a query of this object.
    NotAnswering(Object),
}

impl Why {
    pub(super) fn of(self, operation: &'static str, key: &Key) -> Unfinished {
        let object = key.to_string();
        match self {
            Self::Busy { holder, held } => Unfinished::Busy {
                operation,
                object,
                holder,
                held,
            },
            Self::Crowded(source) => Unfinished::Crowded {
                operation,
                object,
                source,
            },
            Self::Deadline => Unfinished::Deadline { operation, object },
            Self::NotAnswering(looked_at) => {
                Unfinished::not_answering(operation, &looked_at.name_for_others())
            }
        }
    }
}
