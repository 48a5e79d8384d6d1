//! What a hundred thousand calls leave behind, in a process in which nothing else runs.

#![cfg(windows)]

#[path = "../native/bench.rs"]
mod bench;
#[path = "../native/echo.rs"]
mod echo;

use os::schema::disk;
use os::{Deadline, Instance};
use os_windows::process_usage;
use wincsi_os_windows_testkit::Place;

use crate::bench::{Bench, PATIENCE, gpt};
use crate::echo::{Echo, Sample, object, path, set};

/// Each a query or a method; of either, half. With them come and go 250,000 objects of COM's: enumerators
/// and what they hand out, in-parameters, calls, out-parameters.
const CALLS: usize = 100_000;

/// Beside its connection the thread keeps the definition of the method's in-parameters.
const KEPT: usize = 2;

/// A thread that comes or goes is one megabyte; one text of each query kept would be five.
const NOISE: usize = 3 << 19;

#[test]
fn connections_objects_and_memory_are_as_many_after_a_hundred_thousand_calls() {
    let (echo, bench) = Echo::with_bench(Place::Result);
    set(&echo.found, vec![found()]);
    // What an allocator and a runtime keep for good, they have by then.
    call(&bench, CALLS / 10);
    let before = resident();
    call(&bench, CALLS);
    assert!(
        bench.wmi.wait_for_objects(KEPT, PATIENCE),
        "{}",
        bench.wmi.objects()
    );
    assert_eq!(bench.wmi.connections(), 1);
    let after = resident();
    assert!(after < before + NOISE, "{before} {after}");
}

fn call(bench: &Bench, times: usize) {
    let (path, initialize) = (path(&disk::CLASS), disk::INITIALIZE.name);
    for _ in 0..times / 2 {
        assert_eq!(bench.disks().expect("a query").len(), 1);
        let done = bench.call(&path, initialize, &gpt(), Deadline::NEVER);
        assert_eq!(done.expect("a method").code, 0);
    }
}

/// With no more than what is selected: each property costs the calls time.
fn found() -> Instance {
    let mut found = object(&disk::CLASS, Sample::High);
    let selected = [disk::NUMBER.name, disk::PARTITION_STYLE.name];
    found
        .properties
        .retain(|name, _| selected.contains(&name.as_str()));
    found
}

fn resident() -> usize {
    process_usage().expect("usage").resident_bytes
}
