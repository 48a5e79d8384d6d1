//! Leaks of a hundred thousand calls, in a process in which nothing else runs.

#![cfg(windows)]

#[path = "../native/echo.rs"]
mod echo;
#[path = "../native/provider_fixture.rs"]
mod provider_fixture;

use os::schema::disk;
use os::{Deadline, Instance};
use os_windows::process_usage;
use wincsi_os_windows_testkit::OutParameters;

use crate::echo::{Echo, Sample, object, path, set};
use crate::provider_fixture::{ProviderFixture, TIMEOUT, gpt};

/// Half queries, half methods. They make and release 250,000 COM objects: enumerators and their objects, in-parameters,
/// calls, out-parameters.
const CALLS: usize = 100_000;

/// Beside its connection the thread keeps the definition of the method's in-parameters.
const KEPT: usize = 2;

/// A thread that comes or goes is one megabyte; one text of each query kept would be five.
const NOISE: usize = 3 << 19;

#[test]
fn connections_objects_and_memory_are_as_many_after_a_hundred_thousand_calls() {
    let (echo, fixture) = Echo::with_bench(OutParameters::Result);
    set(&echo.found, vec![found()]);
    // By then the allocator and the runtime have all the memory that they keep for good.
    call(&fixture, CALLS / 10);
    let before = resident();
    call(&fixture, CALLS);
    assert!(
        fixture.wmi.wait_for_objects(KEPT, TIMEOUT),
        "{}",
        fixture.wmi.objects()
    );
    assert_eq!(fixture.wmi.connections(), 1);
    let after = resident();
    assert!(after < before + NOISE, "{before} {after}");
}

fn call(fixture: &ProviderFixture, times: usize) {
    let (path, initialize) = (path(&disk::CLASS), disk::INITIALIZE.name);
    for _ in 0..times / 2 {
        assert_eq!(fixture.disks().expect("a query").len(), 1);
        let done = fixture.call(&path, initialize, &gpt(), Deadline::NEVER);
        assert_eq!(done.expect("a method").code, 0);
    }
}

/// With the selected properties only: each property costs the calls time.
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
