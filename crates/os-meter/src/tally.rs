use std::collections::BTreeMap;
use std::mem;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use crate::Ending;
use crate::Kind;
use crate::Meter;
use crate::Operation;

/// Counts exactly, for tests and benchmarks: what one call costs is what [`Tally::take`] answers after
/// it. Operations that another thread runs for the call count too, so there must be one call at a time.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counts>);

impl Tally {
    /// The operations that began since the last taking.
    #[must_use]
    pub fn take(&self) -> Counts {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What `run` answers, and the operations that it began.
    pub fn during<T>(&self, run: impl FnOnce() -> T) -> (T, Counts) {
        drop(self.take());
        let answer = run();
        (answer, self.take())
    }
}

impl Meter for Tally {
    fn began(&self, operation: &Operation) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.0.entry(*operation).or_default() += 1;
    }

    fn ended(&self, _operation: &Operation, _took: Duration, _ending: Ending) {}
}

/// How often each operation began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<Operation, u64>);

impl Counts {
    /// Each operation and how often it began.
    pub fn iter(&self) -> impl Iterator<Item = (&Operation, u64)> {
        self.0.iter().map(|(operation, count)| (operation, *count))
    }

    /// All operations of a kind. Handles opened are [`Kind::Handle`]; a provider's work is
    /// [`Kind::Query`] and [`Kind::Method`].
    #[must_use]
    pub fn of(&self, kind: Kind) -> u64 {
        self.iter()
            .filter(|(operation, _)| operation.kind == kind)
            .map(|(_, count)| count)
            .sum()
    }

    /// All operations but waits.
    #[must_use]
    pub fn total(&self) -> u64 {
        let all: u64 = self.0.values().sum();
        all - self.of(Kind::Wait)
    }
}
