//! Which calls may begin to work on volumes, and those that run.

use std::collections::BTreeMap;
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

use wire::lifecycle::v1::RunningCall;

use crate::unpoisoned::Unpoisoned;

/// Admits calls until it is closed, which is for good: what closes it is about to end the driver.
#[derive(Debug, Default)]
pub struct Admission {
    calls: Unpoisoned<Calls>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Calls {
    is_closed: bool,
    admitted: u64,
    /// Their methods, and when they began.
    running: BTreeMap<u64, (&'static str, Instant)>,
}

impl Admission {
    /// Lets a call begin; it runs until the result is dropped. `None` when admission is closed.
    pub fn admit(&self, method: &'static str) -> Option<Admitted<'_>> {
        let mut calls = self.calls.lock();
        if calls.is_closed {
            return None;
        }
        calls.admitted += 1;
        let number = calls.admitted;
        calls.running.insert(number, (method, Instant::now()));
        Some(Admitted { of: self, number })
    }

    pub fn is_open(&self) -> bool {
        !self.calls.lock().is_closed
    }

    /// Admits no more, waits for the calls that run, but not longer than this, and returns those that still run.
    pub fn drain(&self, wait: Duration) -> Vec<RunningCall> {
        let mut calls = self.calls.lock();
        calls.is_closed = true;
        let waited = self
            .ended
            .wait_timeout_while(calls, wait, |calls| !calls.running.is_empty());
        let (calls, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let running = calls.running.values().map(|(method, since)| RunningCall {
            method: (*method).to_owned(),
            seconds: u32::try_from(since.elapsed().as_secs()).unwrap_or(u32::MAX),
        });
        running.collect()
    }
}

/// The right of a call to run, until it is dropped.
#[derive(Debug)]
pub struct Admitted<'a> {
    of: &'a Admission,
    number: u64,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.of.calls.lock().running.remove(&self.number);
        self.of.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    #[test]
    fn a_drain_admits_no_more_and_returns_the_calls_that_outlast_it() {
        let admission = Admission::default();
        let running = admission.admit("NodeStageVolume").unwrap();
        assert!(admission.is_open());
        let left = admission.drain(Duration::ZERO);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].method, "NodeStageVolume");
        assert!(!admission.is_open() && admission.admit("NodeStageVolume").is_none());
        drop(running);
        assert_eq!(admission.drain(Duration::ZERO), []);
    }

    #[test]
    fn a_drain_ends_with_the_last_call() {
        let admission = Admission::default();
        let running = admission.admit("NodeStageVolume").unwrap();
        thread::scope(|scope| {
            let (sender, drained) = mpsc::channel();
            let draining = &admission;
            scope.spawn(move || sender.send(draining.drain(LONG)));
            while admission.is_open() {
                thread::yield_now();
            }
            assert!(drained.try_recv().is_err(), "a call runs");
            drop(running);
            assert_eq!(drained.recv_timeout(LONG), Ok(Vec::new()));
        });
    }
}
