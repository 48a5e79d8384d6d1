//! Operations of the system, counted by kind: the one place that knows the meter.

use std::fmt;
use std::sync::Arc;

use os::Os;
use os_meter::{Counts, Kind, Meter, Tally, metered};

/// Queries and methods of WMI providers, handles opened, calls by name or on an open handle, waits.
pub type Cost = [u64; KINDS.len()];

const KINDS: [Kind; 5] = [
    Kind::Query,
    Kind::Method,
    Kind::Handle,
    Kind::Call,
    Kind::Wait,
];

/// Counts the operations of a node. There must be one call at a time.
pub struct Counter(Arc<Tally>);

impl Counter {
    /// The node whose operations are counted, and the counter.
    #[must_use]
    pub fn around(os: Os) -> (Os, Self) {
        let tally = Arc::new(Tally::default());
        let meter: Arc<dyn Meter> = Arc::<Tally>::clone(&tally);
        (metered(os, &meter), Self(tally))
    }

    /// What `run` returns, and the operations meanwhile.
    pub fn during<T>(&self, run: impl FnOnce() -> T) -> (T, Counted) {
        let (answer, counts) = self.0.during(run);
        (answer, Counted(counts))
    }
}

/// The operations of one call.
#[derive(Debug)]
pub struct Counted(Counts);

impl Counted {
    /// How many of each kind.
    #[must_use]
    pub fn cost(&self) -> Cost {
        KINDS.map(|kind| self.0.of(kind))
    }
}

/// Each operation by its name, to show which one a wrong row has.
impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operations = self.0.iter();
        operations.try_for_each(|(one, times)| write!(f, "; {} {} x{times}", one.name, one.subject))
    }
}
