use std::process::ExitCode;
use std::sync::Arc;

use os::{Facility, Provider};
use os_suite::{Fixture, Implementation};
use os_windows::NativeProvider;
use wincsi_os_windows_testkit::{InProcessWmi, OutParameters};

#[path = "../../../os-sim/tests/suite/simulator.rs"]
mod simulator;

/// The cases of the providers' facilities only: all else is the simulated node's own, and its suite runs elsewhere.
pub(crate) fn main() -> ExitCode {
    let native = Implementation {
        facilities: &Facility::ALL,
        about: &[Facility::Iscsi, Facility::Smb, Facility::Storage],
        fixture,
        deviations: &[],
    };
    os_suite::run(native)
}

fn fixture() -> Result<Fixture, String> {
    let fixture = simulator::SimulatorFixture::new().map_err(|error| error.to_string())?;
    let os = fixture.node.os();
    let wmi = InProcessWmi::over(os.clone(), OutParameters::Result);
    let native: Arc<dyn Provider> =
        Arc::new(NativeProvider::over(Arc::clone(&os.clock), Arc::new(wmi)));
    Ok(Fixture::new(fixture)
        .with_os(&os)
        .with_iscsi(Arc::clone(&native))
        .with_smb(Arc::clone(&native))
        .with_storage(native))
}
