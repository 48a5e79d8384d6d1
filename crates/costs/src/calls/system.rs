use anyhow::Result;
use wire::system::v1alpha1::*;

use crate::Sample;
use crate::Scenario;
use crate::Stage;

/// A service that nothing depends on and that is stopped at first.
const SERVICE: &str = "vds";

/// A service that runs, and the one that runs and depends on it.
const BELOW: &str = "RpcSs";
const ABOVE: &str = "Winmgmt";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("system.GetBIOSSerialNumber", serial)
        .asking(1, 0)
        .by("8", "CIM_BIOSElement.SerialNumber"),
    Scenario::of("system.GetService", service)
        .asking(1, 0)
        .by("8", "Win32_Service by Name"),
    Scenario::of("system.StartService", start)
        .when("it is stopped")
        .asking(2, 1)
        .by(
            "8",
            "Win32_Service; StartService; at least one look at State",
        ),
    Scenario::of("system.StartService", start_again)
        .when("it runs")
        .asking(3, 1)
        .by(
            "8",
            "Win32_Service; StartService all the same; two looks at State",
        ),
    Scenario::of("system.StopService", stop)
        .when("it runs")
        .asking(2, 1)
        .by(
            "8",
            "Win32_Service; StopService; at least one look at State",
        ),
    Scenario::of("system.StopService", stop_again)
        .when("it is stopped")
        .asking(1, 0)
        .by("8", "Win32_Service"),
    Scenario::of("system.StopService", stop_with_dependents)
        .when("force, one that runs depends on it")
        .asking(5, 3)
        .by(
            "8",
            "Win32_Service; StopService, which is refused; the dependents of both; StopService and at \
             least one look at State for each",
        ),
];

fn serial(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::GetBiosSerialNumber>(&GetBiosSerialNumberRequest {})
}

fn service(stage: &Stage) -> Result<Sample> {
    let name = SERVICE.to_owned();
    stage.measured::<rpc::GetService>(&GetServiceRequest { name })
}

fn start(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[0].clone())
}

fn start_again(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[1].clone())
}

fn stop(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[2].clone())
}

fn stop_again(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[3].clone())
}

/// Started and stopped, each twice.
fn life(stage: &Stage) -> Result<[Sample; 4]> {
    let start = StartServiceRequest {
        name: SERVICE.to_owned(),
    };
    let stop = StopServiceRequest {
        name: SERVICE.to_owned(),
        force: false,
    };
    Ok([
        stage.measured::<rpc::StartService>(&start)?,
        stage.measured::<rpc::StartService>(&start)?,
        stage.measured::<rpc::StopService>(&stop)?,
        stage.measured::<rpc::StopService>(&stop)?,
    ])
}

/// Stopped with the one that depends on it, and both started again.
fn stop_with_dependents(stage: &Stage) -> Result<Sample> {
    let sample = stage.measured::<rpc::StopService>(&StopServiceRequest {
        name: BELOW.to_owned(),
        force: true,
    })?;
    for name in [BELOW, ABOVE] {
        let name = name.to_owned();
        stage.call::<rpc::StartService>(&StartServiceRequest { name })?;
    }
    Ok(sample)
}
