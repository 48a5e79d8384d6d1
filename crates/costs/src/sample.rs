//! Counting one call, and telling its processor time from the system's.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use os_meter::Counts;
use os_meter::Ending;
use os_meter::Meter;
use os_meter::Operation;
use os_meter::Tally;

use crate::Crossing;
use crate::Frontier;
use crate::cpu;

/// What one call took.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The operations of the system.
    pub counts: Counts,
    /// What crossed the stage's frontier, where it has one.
    pub crossings: Vec<Crossing>,
    /// The processor time, where this machine tells it.
    pub cpu: Option<Cpu>,
}

/// The processor time of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Of the handler and all above the operations of the system: ours.
    pub above: Duration,
    /// Of the operations themselves: here the simulated node's.
    pub below: Duration,
}

/// Counts one call at a time.
pub(crate) struct Gauge {
    frontier: Option<Arc<dyn Frontier>>,
    tally: Tally,
    below: Mutex<Below>,
}

#[derive(Default)]
struct Below {
    began: Option<Duration>,
    total: Duration,
}

impl Gauge {
    pub(crate) fn at(frontier: Option<Arc<dyn Frontier>>) -> Self {
        Self {
            frontier,
            tally: Tally::default(),
            below: Mutex::default(),
        }
    }

    /// What `run` answers, and what it took.
    pub(crate) fn measure<T>(&self, run: impl FnOnce() -> T) -> (T, Sample) {
        *self.below() = Below::default();
        self.crossings();
        let before = cpu::spent();
        let (answer, counts) = self.tally.during(run);
        let took = cpu::spent().zip(before).map(|(now, before)| now - before);
        let below = self.below().total;
        let cpu = took.map(|took| Cpu {
            above: took.saturating_sub(below),
            below,
        });
        let crossings = self.crossings();
        let sample = Sample {
            counts,
            crossings,
            cpu,
        };
        (answer, sample)
    }

    fn crossings(&self) -> Vec<Crossing> {
        let frontier = self.frontier.as_ref();
        frontier.map(|frontier| frontier.take()).unwrap_or_default()
    }

    fn below(&self) -> MutexGuard<'_, Below> {
        self.below.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meter for Gauge {
    fn began(&self, operation: &Operation) {
        self.tally.began(operation);
        self.below().began = cpu::spent();
    }

    fn ended(&self, operation: &Operation, took: Duration, ending: Ending) {
        let now = cpu::spent();
        let mut below = self.below();
        if let Some((now, began)) = now.zip(below.began.take()) {
            below.total += now.saturating_sub(began);
        }
        self.tally.ended(operation, took, ending);
    }
}
