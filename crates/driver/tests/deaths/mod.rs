//! The driver dies in a call, before and after each operation of the system, and in the middle of a write of its record.
//!
//! A call runs once, and is held before each operation. What is on the node and in the records then is what a death at that
//! moment leaves, so none of the driver's code runs after its death. Between two operations lie the writes of records: a
//! death right after the first operation leaves the records from before it.

#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

#[cfg(unix)]
mod holes;
#[cfg(not(unix))]
#[path = "no_holes.rs"]
mod holes;
mod snapshot;

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use wincsi::Win32;
use wincsi::sim::{Effect, Rule, SimNode};

pub(crate) use self::snapshot::{LOCK_OF_RECORDS, NODE, RECORDS, Snapshot, Sparse};

pub(crate) type Done = Result<(), Box<dyn Error + Send + Sync>>;

/// A node with a driver, of which a death leaves something.
pub(crate) trait Mortal: Sync {
    fn sim(&self) -> &SimNode;
    fn snapshot(&self) -> Snapshot;
}

/// What each death in a call leaves.
pub(crate) fn deaths_in<F: Mortal>(
    fixture: &F,
    name: &str,
    call: impl Fn(&F) -> Done + Sync,
) -> Vec<Snapshot> {
    let mut deaths = Vec::new();
    let moments = moments(fixture, name, call);
    for (before, after) in moments.iter().zip(moments.iter().skip(1)) {
        deaths.push(before.clone());
        deaths.push(after.with_records_of(before));
        deaths.extend(after.between_records_of(before));
        deaths.extend(after.torn_from(before));
    }
    deaths.extend(moments.last().cloned());
    deaths
}

/// What is there before each operation of the call, and after the last.
fn moments<F: Mortal>(fixture: &F, name: &str, call: impl Fn(&F) -> Done + Sync) -> Vec<Snapshot> {
    let faults = fixture.sim().faults();
    fixture.sim().take_trace();
    let mut moments = Vec::new();
    thread::scope(|scope| {
        let mut held = faults.add(hang());
        let running = scope.spawn(|| call(fixture));
        while !running.is_finished() {
            if faults.wait_until_hanging(1, GLANCE) {
                moments.push(fixture.snapshot());
                let next = faults.add(hang());
                faults.remove(held);
                held = next;
            }
        }
        faults.remove(held);
        let done = running.join().unwrap();
        done.unwrap_or_else(|error| panic!("{name}: {error}"));
    });
    let operations = fixture.sim().take_trace().len();
    assert_eq!(moments.len(), operations, "{name}");
    assert!(operations > 0, "{name}");
    moments.push(fixture.snapshot());
    moments
}

/// How long a call may go without an operation until it is looked at whether it has ended.
pub(crate) const GLANCE: Duration = Duration::from_millis(20);

pub(crate) fn hang() -> Rule {
    Rule::on("*", Effect::Hang)
}

/// Kills the driver before one operation of a call: what it does from then on fails. What `left` finds then, unless the call
/// ended before.
pub(crate) fn die_at<R>(
    sim: &SimNode,
    at: usize,
    call: impl FnOnce() + Send,
    left: impl FnOnce() -> R,
) -> Option<R> {
    let faults = sim.faults();
    thread::scope(|scope| {
        let mut held = faults.add(hang());
        let running = scope.spawn(call);
        let mut operations = 0;
        while !running.is_finished() {
            if !faults.wait_until_hanging(1, GLANCE) {
                continue;
            }
            if operations == at {
                let left = left();
                faults.add(Rule::on("*", Effect::fail(Win32::GEN_FAILURE)));
                faults.remove(held);
                return Some(left);
            }
            operations += 1;
            let next = faults.add(hang());
            faults.remove(held);
            held = next;
        }
        faults.remove(held);
        None
    })
}

/// Each of these once, on as many threads as there are processors.
pub(crate) fn on_all_processors<T: Sync>(all: &[T], act: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    act(one);
                }
            });
        }
    });
}
