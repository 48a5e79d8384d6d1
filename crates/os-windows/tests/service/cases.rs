use std::error::Error;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use os::{Deadline, Services as _, Win32};
use wincsi_os_windows::{NativeServices, ServiceError, run_as_service};
use windows_service::service::{
    ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus,
};

use super::controller::RunningService;
use super::servant;

type Outcome = Result<(), Box<dyn Error>>;

/// A case: its name and its function.
type Case = (&'static str, fn() -> Outcome);

pub(crate) const ALL: &[Case] = &[
    (
        "a_service_runs_when_it_says_so_and_drains_before_it_stops",
        whole_life,
    ),
    ("a_stop_reaches_a_closure", stop_by_closure),
    (
        "a_service_that_another_needs_is_not_stopped_before_it",
        needed_by_another,
    ),
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
    let mut service = RunningService::in_mode("wait")?;
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
    let mut service = RunningService::in_mode("closure")?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "running".to_owned())?;
    service.stop()?;
    same(service.wire.hear()?, "stopping".to_owned())?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "ended well".to_owned())?;
    same(service.status()?.current_state, ServiceState::Stopped)
}

/// Wine 8 lists no dependents, and stops a service whatever depends on it. When this is fixed, this case fails.
fn needed_by_another() -> Outcome {
    let services = NativeServices::new();
    let mut below = running("closure", RunningService::in_mode)?;
    let mut above = running("wait", |mode| below.dependent(mode))?;
    let wanted = match is_wine() {
        true => (Vec::new(), None),
        false => (
            vec![above.name().to_owned()],
            Some(Win32::DEPENDENT_SERVICES_RUNNING),
        ),
    };
    let command = services.query(below.name())?.command.unwrap_or_default();
    same(command.ends_with(" closure"), true)?;
    let listed = services.running_dependents(below.name())?;
    let stopped = services.stop(below.name(), Deadline::NEVER);
    let refused = stopped.err().and_then(|error| error.win32());
    same((listed, refused), wanted)?;
    if refused.is_some() {
        end(&mut above)?;
        services.stop(below.name(), Deadline::NEVER)?;
        return ended(&mut below);
    }
    ended(&mut below)?;
    end(&mut above)
}

fn running(
    mode: &str,
    start: impl FnOnce(&str) -> Result<RunningService, Box<dyn Error>>,
) -> Result<RunningService, Box<dyn Error>> {
    let mut service = start(mode)?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "running".to_owned())?;
    Ok(service)
}

fn end(service: &mut RunningService) -> Outcome {
    service.stop()?;
    ended(service)
}

/// It has got the stop.
fn ended(service: &mut RunningService) -> Outcome {
    same(service.wire.hear()?, "stopping".to_owned())?;
    service.wire.say("go on")?;
    same(service.wire.hear()?, "ended well".to_owned())
}

/// No Windows has this program.
fn is_wine() -> bool {
    Path::new(r"C:\windows\system32\winecfg.exe").exists()
}

fn no_stop_while_starting() -> Outcome {
    const CANNOT_ACCEPT_CTRL: i32 = 1061;
    const INVALID_SERVICE_CONTROL_OF_WINE: i32 = 1052;
    let refusals = [CANNOT_ACCEPT_CTRL, INVALID_SERVICE_CONTROL_OF_WINE];
    let mut service = RunningService::in_mode("wait")?;
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
    let mut service = RunningService::in_mode(mode)?;
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
