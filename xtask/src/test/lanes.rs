//! Two things at a time: a wait in one lane leaves a processor to the other.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use anyhow::Result;

use super::outcome::Outcome;
use crate::host::Host;

/// Hosts of a kind, each for one thing at a time: under Wine each is a prefix, with a server of its own.
pub(super) type Lanes<'a> = [Host<'a>; 2];

pub(super) const LINUX: Lanes<'_> = [Host::Linux; 2];

/// Runs the jobs, each in the next free lane, and returns their outcomes in the jobs' order.
pub(super) fn run<J: Sync>(
    lanes: Lanes<'_>,
    jobs: &[J],
    one: impl Fn(Host<'_>, &J) -> Result<Outcome> + Sync,
) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let lane = |host: Host<'_>| -> Result<Vec<(usize, Outcome)>> {
        let mut ran = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else {
                return Ok(ran);
            };
            ran.push((at, one(host, job)?));
        }
    };
    let ended: Vec<_> = thread::scope(|scope| {
        let started = lanes.map(|host| scope.spawn(move || lane(host)));
        started.map(ScopedJoinHandle::join).into()
    });
    let mut outcomes = Vec::new();
    for lane in ended {
        outcomes.extend(lane.unwrap_or_else(|panicked| panic::resume_unwind(panicked))?);
    }
    outcomes.sort_by_key(|(at, _)| *at);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn two_run_at_a_time_and_are_answered_in_their_order() {
        // Each waits for another: one after the other they would never end.
        let both = Barrier::new(2);
        let one = |_: Host<'_>, number: &u32| {
            both.wait();
            Ok(Outcome::passed(*number))
        };
        let ran = run(LINUX, &[1, 2, 3, 4], one).unwrap();
        let counts: Vec<u32> = ran.iter().map(|outcome| outcome.counts.passed).collect();
        assert_eq!(counts, [1, 2, 3, 4]);
    }

    #[test]
    fn an_error_in_a_lane_is_the_runs() {
        let one = |_: Host<'_>, number: &u32| {
            anyhow::ensure!(*number != 2, "interrupted");
            Ok(Outcome::default())
        };
        assert!(run(LINUX, &[1, 2, 3], one).is_err());
    }
}
