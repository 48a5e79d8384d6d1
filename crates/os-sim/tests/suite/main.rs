//! The behaviour suite against the simulated node.

mod bench;

use std::process::ExitCode;

use os::Facility;
use os_suite::{Fixture, Implementation, Program};

use crate::bench::Bench;

fn main() -> ExitCode {
    let simulator = Implementation {
        facilities: &Facility::ALL,
        about: &[],
        fixture,
        deviations: &[],
    };
    os_suite::run_recorded(simulator, Program::Simulator, &[])
}

fn fixture() -> Result<Fixture, String> {
    let bench = Bench::new().map_err(|error| error.to_string())?;
    let os = bench.node.os();
    Ok(Fixture::new(bench).with_os(&os))
}
