//! The behaviour suite against the simulated node.

mod simulator;

use std::process::ExitCode;

use os::Facility;
use os_suite::{Fixture, Implementation};

use crate::simulator::SimulatorFixture;

fn main() -> ExitCode {
    let simulator = Implementation {
        facilities: &Facility::ALL,
        about: &[],
        fixture,
        deviations: &[],
    };
    os_suite::run(simulator)
}

fn fixture() -> Result<Fixture, String> {
    let fixture = SimulatorFixture::new().map_err(|error| error.to_string())?;
    let os = fixture.node.os();
    Ok(Fixture::new(fixture).with_os(&os))
}
