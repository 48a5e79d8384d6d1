//! The cases about the seam, against each of its implementations that this machine can run.

mod simulator;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use os::Facility;
use wincsi_conformance::{Backend, Fixture};

use crate::simulator::SimulatorFixture;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let simulator = Backend {
        name: "simulator",
        facilities: &Facility::ALL,
        about: &[],
        fixture,
        deviations: &[],
    };
    let mut trials = simulator.trials(&[]);
    trials.extend(platform::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn fixture() -> Result<Fixture, String> {
    let fixture = SimulatorFixture::new().map_err(|error| error.to_string())?;
    Ok(Fixture::new(fixture.node.os(), Box::new(fixture)))
}
