//! The cases and experiments against each backend that this machine can run, but not on real Windows as a whole.

mod experiments;
mod simulator;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use os::Facility;
use wincsi_conformance::{Backend, Fixture, MakeFixture, NodeFixture, NodeRun, cases};

use crate::simulator::Simulator;

/// First the cases of a node, one after the other: one of them counts the handles of this process.
fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let one_at_a_time = Arguments {
        test_threads: Some(1),
        ..arguments.clone()
    };
    let of_node = libtest_mimic::run(&one_at_a_time, of_node());
    let of_seam = libtest_mimic::run(&arguments, of_seam());
    match of_node.has_failed() {
        true => of_node.exit_code(),
        false => of_seam.exit_code(),
    }
}

fn of_node() -> Vec<Trial> {
    let make: MakeFixture = Arc::new(|| {
        let made = Simulator::for_node().map_err(|error| error.to_string())?;
        Ok(Box::new(made) as Box<dyn NodeFixture>)
    });
    let run = NodeRun {
        backend: "simulator",
        make,
        limit: Duration::from_secs(300),
        machine: "a simulated node".to_owned(),
        record: None,
        is_hung: Arc::default(),
    };
    let cases = cases::all().filter(|case| platform::has(case.name));
    let mut trials: Vec<_> = cases.map(|case| run.case(case)).collect();
    if platform::MAKES_EXPERIMENTS {
        trials.extend(experiments::trials());
    }
    trials
}

fn of_seam() -> Vec<Trial> {
    let simulator = Backend {
        name: "simulator",
        facilities: &Facility::ALL,
        about: &[],
        fixture: simulated,
        deviations: &[],
    };
    let mut trials = simulator.trials(&[]);
    trials.extend(platform::trials());
    trials
}

fn simulated() -> Result<Fixture, String> {
    let made = Simulator::for_seam().map_err(|error| error.to_string())?;
    Ok(Fixture::new(made.system(), Box::new(made)))
}
