//! What thousands of calls leave behind, in a process in which nothing else runs.

#![cfg(windows)]

#[path = "../native/bench.rs"]
mod bench;

use os::Deadline;
use os_windows::process_usage;

use crate::bench::Bench;
use crate::bench::PATIENCE;
use crate::bench::THREADS;

/// Five objects of COM's come and go with each: an enumerator and what it hands out, in-parameters where
/// there are any, a call, its out-parameters.
const CALLS: usize = 2_500;

/// A thread that comes or goes is one megabyte; one text of each call kept would be two.
const NOISE: usize = 3 << 19;

#[test]
fn connections_and_objects_are_as_many_after_thousands_of_calls() {
    let bench = Bench::new();
    assert_eq!(
        bench.initialise(Deadline::NEVER).expect("an outcome").code,
        0
    );
    let ask = |times: usize| {
        for _ in 0..times {
            bench.refresh().expect("a query and a method");
            bench.node.take_trace();
        }
        process_usage().expect("usage").resident_bytes
    };
    let before = ask(CALLS / 10);
    let after = ask(CALLS);
    let connections = bench.wmi.connections();
    assert!(connections <= THREADS, "{connections}");
    // Beside its connection each thread keeps the definitions of the two methods' parameters.
    let kept = connections * 3;
    assert!(bench.wmi.wait_for_objects(kept, PATIENCE));
    assert!(after < before + NOISE, "{before} {after}");
}
