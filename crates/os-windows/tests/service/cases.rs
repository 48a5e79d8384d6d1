use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;

use wincsi_os_windows::ServiceError;
use wincsi_os_windows::run_as_service;
use windows_service::service::ServiceControlAccept;
use windows_service::service::ServiceExitCode;
use windows_service::service::ServiceState;
use windows_service::service::ServiceStatus;

use super::controller::Running;
use super::servant;

type Outcome = Result<(), Box<dyn Error>>;

/// A case: its name, and what it does.
type Case = (&'static str, fn() -> Outcome);

pub(crate) const ALL: &[Case] = &[
    (
        "a_service_runs_when_it_says_so_and_drains_before_it_stops",
        whole_life,
    ),
    ("a_stop_reaches_a_closure", stop_by_closure),
    (
        "a_stop_is_refused_while_the_service_starts",
        no_stop_while_starting,
    ),
    ("a_main_that_fails_ends_the_service_with_a_code", failure),
    ("a_main_that_panics_ends_the_service_with_a_code", panic),
    (
        "a_process_that_nobody_started_as_a_service_is_none",
        not_a_service,
    ),
];

fn whole_life() -> Outcome {
    let mut service = Running::in_mode("wait")?;
    expect(
        &service.status()?,
        ServiceState::StartPending,
        ServiceControlAccept::empty(),
    )?;
    let before = service.status()?;
    service.wire.say("say more")?;
    same(service.wire.hear()?, "said more".to_owned())?;
    let after = service.status()?;
    same(after.checkpoint, before.checkpoint + 1)?;
    same(after.wait_hint > Duration::ZERO, true)?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "running".to_owned())?;
    let both = ServiceControlAccept::STOP | ServiceControlAccept::SHUTDOWN;
    expect(&service.status()?, ServiceState::Running, both)?;
    service.stop()?;
    same(service.wire.hear()?, "stopping".to_owned())?;
    let stopping = service.status()?;
    expect(
        &stopping,
        ServiceState::StopPending,
        ServiceControlAccept::empty(),
    )?;
    same(stopping.wait_hint > servant::STOP_TIME, true)?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "ended well".to_owned())?;
    let status = service.status()?;
    expect(
        &status,
        ServiceState::Stopped,
        ServiceControlAccept::empty(),
    )?;
    same(status.exit_code, ServiceExitCode::NO_ERROR)
}

fn stop_by_closure() -> Outcome {
    let mut service = Running::in_mode("closure")?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "running".to_owned())?;
    service.stop()?;
    same(service.wire.hear()?, "stopping".to_owned())?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "ended well".to_owned())?;
    same(service.status()?.current_state, ServiceState::Stopped)
}

fn no_stop_while_starting() -> Outcome {
    const CANNOT_ACCEPT_CTRL: i32 = 1061;
    const INVALID_SERVICE_CONTROL_OF_WINE: i32 = 1052;
    let refusals = [CANNOT_ACCEPT_CTRL, INVALID_SERVICE_CONTROL_OF_WINE];
    let mut service = Running::in_mode("wait")?;
    match service.stop() {
        Err(windows_service::Error::Winapi(error)) => {
            let code = error.raw_os_error();
            same(code.is_some_and(|code| refusals.contains(&code)), true)?;
        }
        other => return Err(format!("{other:?}").into()),
    }
    service.wire.say("go on")?;
    same(service.wire.hear()?, "running".to_owned())?;
    service.stop()?;
    same(service.wire.hear()?, "stopping".to_owned())?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "ended well".to_owned())
}

fn failure() -> Outcome {
    ends_badly("fail", servant::FAILURE)
}

fn panic() -> Outcome {
    ends_badly("panic", 1)
}

fn ends_badly(mode: &str, code: u8) -> Outcome {
    let mut service = Running::in_mode(mode)?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "ended badly".to_owned())?;
    let status = service.status()?;
    same(status.current_state, ServiceState::Stopped)?;
    same(
        status.exit_code,
        ServiceExitCode::ServiceSpecific(code.into()),
    )
}

/// Twice, for a first failure must not leave the process taken. The system itself may refuse the
/// second time: it is documented to let a process ask once.
fn not_a_service() -> Outcome {
    let attempt = || run_as_service(servant::STOP_TIME, |_| 0);
    let first = attempt();
    same(matches!(first, Err(ServiceError::NotAService)), true)?;
    match attempt() {
        Err(ServiceError::NotAService | ServiceError::Dispatch(_)) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn expect(status: &ServiceStatus, state: ServiceState, accepted: ServiceControlAccept) -> Outcome {
    same(status.current_state, state)?;
    same(status.controls_accepted, accepted)
}

fn same<T: PartialEq + Debug>(got: T, wanted: T) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    Err(format!("wanted {wanted:?}, got {got:?}").into())
}
