use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Ending, Kind, Meter, MeteredOperation};

/// Counts exactly, for tests and benchmarks: [`Tally::take`] after a call returns the call's cost.
/// Operations that another thread runs for the call count too, so only one call at a time may run.
#[derive(Debug, Default)]
pub struct Tally {
    began: Mutex<Counts>,
    open: Mutex<Counts>,
}

impl Tally {
    /// The operations that began since the last taking.
    #[must_use]
    pub fn take(&self) -> Counts {
        mem::take(&mut *locked(&self.began))
    }

    /// The result of `run`, and the operations that it began.
    pub fn during<T>(&self, run: impl FnOnce() -> T) -> (T, Counts) {
        drop(self.take());
        let answer = run();
        (answer, self.take())
    }

    /// The objects that are open now, by the operation that opened them: held directories, locked
    /// volumes.
    #[must_use]
    pub fn open(&self) -> Counts {
        locked(&self.open).clone()
    }
}

impl Meter for Tally {
    fn began(&self, operation: &MeteredOperation) {
        locked(&self.began).add(*operation);
    }

    fn ended(&self, _operation: &MeteredOperation, _took: Duration, _ending: Ending) {}

    fn opened(&self, operation: &MeteredOperation) {
        locked(&self.open).add(*operation);
    }

    fn closed(&self, operation: &MeteredOperation) {
        locked(&self.open).remove(operation);
    }
}

fn locked(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often each operation began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<MeteredOperation, u64>);

impl Counts {
    /// Each operation and how often it began.
    pub fn iter(&self) -> impl Iterator<Item = (&MeteredOperation, u64)> {
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

    fn add(&mut self, operation: MeteredOperation) {
        *self.0.entry(operation).or_default() += 1;
    }

    fn remove(&mut self, operation: &MeteredOperation) {
        match self.0.get_mut(operation) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.0.remove(operation)),
        }
    }
}
