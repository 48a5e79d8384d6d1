use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{
    self, ServiceControlHandlerResult, ServiceStatusHandle,
};
use windows_service::{define_windows_service, service_dispatcher};

use crate::installation::cause;

/// csi-proxy's registered name, also of its events in the system's log. The service control manager ignores it for a
/// service with a process of its own, so the service can be installed under another name.
pub const SERVICE_NAME: &str = "csiproxy";

/// How long the service control manager waits for the next word while we start.
const START: Duration = Duration::from_secs(60);

/// A stop's time beyond the announced one, before it may count as hung.
const MARGIN: Duration = Duration::from_secs(10);

/// The exit code of a service whose `main` panicked.
const PANICKED: u8 = 1;

/// ERROR_FAILED_SERVICE_CONTROLLER_CONNECT.
const NOT_STARTED_BY_THE_MANAGER: i32 = 1063;

/// Runs `main` as a service, on a thread of the service control manager, until it returns.
///
/// The service is starting until `main` calls [`ServiceHandle::running`]. Stop and shutdown reach it through
/// [`ServiceHandle::wait_for_stop`] or [`ServiceHandle::on_stop`]; the service is stopping until `main` returns, within
/// about `stop_time`, and then stopped: with code 0 when `main` returned 0, else with this value as the service's own
/// code. A panic in `main` counts as 1.
///
/// Preshutdown is not requested: the kubelet may end its pods then, and their volumes are unmounted
/// through us.
///
/// # Errors
/// The process was not started by the service control manager, or runs a service already.
pub fn run_as_service(
    stop_time: Duration,
    main: impl FnOnce(ServiceHandle) -> u8 + Send + 'static,
) -> Result<u8, ServiceError> {
    {
        let mut handoff = handoff();
        if handoff.is_busy {
            return Err(ServiceError::Busy);
        }
        handoff.is_busy = true;
        handoff.main = Some((stop_time, Box::new(main)));
    }
    let dispatched = service_dispatcher::start(SERVICE_NAME, service_main);
    let ended = {
        let mut handoff = handoff();
        handoff.is_busy = false;
        handoff.main = None;
        handoff.ended.take()
    };
    dispatched.map_err(not_dispatched)?;
    ended.unwrap_or(Ok(PANICKED))
}

/// Why the process cannot be a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It is one already.
    #[error("this process runs a service already")]
    Busy,
    /// The service control manager cannot be reached.
    #[error("reach the service control manager: {}", cause(.0))]
    Dispatch(#[source] windows_service::Error),
    /// The service control manager did not start it.
    #[error(
        "the service control manager did not start this process \
         ({NOT_STARTED_BY_THE_MANAGER}, ERROR_FAILED_SERVICE_CONTROLLER_CONNECT)"
    )]
    NotAService,
    /// The service control manager took no handler for its requests.
    #[error("register for service control requests: {}", cause(.0))]
    Register(#[source] windows_service::Error),
}

/// The service as its own code sees it. Cheap to clone.
#[derive(Clone)]
pub struct ServiceHandle {
    shared: Arc<Shared>,
}

impl ServiceHandle {
    /// Reports to the service control manager that the start goes on, so it waits once more. Does
    /// nothing later.
    pub fn still_starting(&self) {
        let mut state = self.shared.state();
        if state.phase == Phase::Starting {
            state.report(ServiceExitCode::NO_ERROR);
        }
    }

    /// Reports to the service control manager that the service does its work now. Does nothing during a stop.
    pub fn running(&self) {
        let mut state = self.shared.state();
        if state.phase == Phase::Starting {
            state.enter(Phase::Running);
            state.report(ServiceExitCode::NO_ERROR);
        }
    }

    /// Whether a stop was requested.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.state().phase == Phase::Stopping
    }

    /// Waits for a stop.
    pub fn wait_for_stop(&self) {
        let state = self.shared.state();
        let waited = self
            .shared
            .changed
            .wait_while(state, |state| state.phase != Phase::Stopping);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Runs `stop` at a stop, on the service control manager's thread, so it must not block; at
    /// once if the stop came before.
    pub fn on_stop(&self, stop: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state();
        if state.phase == Phase::Stopping {
            drop(state);
            stop();
        } else {
            state.stops.push(Box::new(stop));
        }
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    phase: Phase,
    /// Counts the reports of this phase.
    checkpoint: u32,
    stop_time: Duration,
    /// None until the service control manager has given it.
    status: Option<ServiceStatusHandle>,
    stops: Vec<Box<dyn FnOnce() + Send>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Starting,
    Stopped,
    Stopping,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request of the service control manager.
    fn control(&self, control: ServiceControl) -> ServiceControlHandlerResult {
        match control {
            ServiceControl::Interrogate => ServiceControlHandlerResult::NoError,
            ServiceControl::Stop | ServiceControl::Shutdown => {
                self.stop();
                ServiceControlHandlerResult::NoError
            }
            _ => ServiceControlHandlerResult::NotImplemented,
        }
    }

    fn stop(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Stopping | Phase::Stopped) {
            return;
        }
        state.enter(Phase::Stopping);
        state.report(ServiceExitCode::NO_ERROR);
        let stops = std::mem::take(&mut state.stops);
        drop(state);
        self.changed.notify_all();
        for stop in stops {
            stop();
        }
    }
}

impl State {
    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.checkpoint = 0;
    }

    /// After a refused status the manager keeps the one before; the work goes on.
    fn report(&mut self, exit_code: ServiceExitCode) {
        if self.phase.is_pending() {
            self.checkpoint += 1;
        }
        let Some(handle) = &self.status else { return };
        let reported = handle.set_service_status(ServiceStatus {
            service_type: ServiceType::OWN_PROCESS,
            current_state: self.phase.state(),
            controls_accepted: self.phase.accepted(),
            exit_code,
            checkpoint: self.checkpoint,
            wait_hint: self.wait_hint(),
            process_id: None,
        });
        if let Err(error) = reported {
            tracing::warn!(%error, phase = ?self.phase, "the service control manager took no status");
        }
    }

    fn wait_hint(&self) -> Duration {
        match self.phase {
            Phase::Starting => START,
            Phase::Stopping => self.stop_time + MARGIN,
            Phase::Running | Phase::Stopped => Duration::ZERO,
        }
    }
}

impl Phase {
    fn state(self) -> ServiceState {
        match self {
            Self::Running => ServiceState::Running,
            Self::Starting => ServiceState::StartPending,
            Self::Stopped => ServiceState::Stopped,
            Self::Stopping => ServiceState::StopPending,
        }
    }

    fn accepted(self) -> ServiceControlAccept {
        match self {
            Self::Running => ServiceControlAccept::STOP | ServiceControlAccept::SHUTDOWN,
            _ => ServiceControlAccept::empty(),
        }
    }

    /// In such a phase alone the manager wants to hear how it goes on.
    fn is_pending(self) -> bool {
        matches!(self, Self::Starting | Self::Stopping)
    }
}

fn not_dispatched(error: windows_service::Error) -> ServiceError {
    match &error {
        windows_service::Error::Winapi(source)
            if source.raw_os_error() == Some(NOT_STARTED_BY_THE_MANAGER) =>
        {
            ServiceError::NotAService
        }
        _ => ServiceError::Dispatch(error),
    }
}

define_windows_service!(service_main, on_service_thread);

/// Entered by the service control manager, which passes no data of ours: `HANDOFF` does.
fn on_service_thread(_arguments: Vec<OsString>) {
    let Some((stop_time, main)) = handoff().main.take() else {
        return;
    };
    if let Err(error) = serve(stop_time, main) {
        handoff().ended = Some(Err(error));
    }
}

fn serve(stop_time: Duration, main: Main) -> Result<(), ServiceError> {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            phase: Phase::Starting,
            checkpoint: 0,
            stop_time,
            status: None,
            stops: Vec::new(),
        }),
        changed: Condvar::new(),
    });
    let handler = Arc::clone(&shared);
    let status =
        service_control_handler::register(SERVICE_NAME, move |control| handler.control(control))
            .map_err(ServiceError::Register)?;
    {
        let mut state = shared.state();
        state.status = Some(status);
        state.report(ServiceExitCode::NO_ERROR);
    }
    let service = ServiceHandle {
        shared: Arc::clone(&shared),
    };
    let code = panic::catch_unwind(AssertUnwindSafe(|| main(service)));
    let code = code.unwrap_or(PANICKED);
    // Before the report: the dispatcher then returns, and the process may end.
    handoff().ended = Some(Ok(code));
    let mut state = shared.state();
    state.enter(Phase::Stopped);
    state.report(exit_code(code));
    Ok(())
}

fn exit_code(code: u8) -> ServiceExitCode {
    match code {
        0 => ServiceExitCode::NO_ERROR,
        code => ServiceExitCode::ServiceSpecific(code.into()),
    }
}

type Main = Box<dyn FnOnce(ServiceHandle) -> u8 + Send>;

/// The data between [`run_as_service`] and the service control manager's thread.
static HANDOFF: Mutex<Handoff> = Mutex::new(Handoff {
    is_busy: false,
    main: None,
    ended: None,
});

struct Handoff {
    is_busy: bool,
    main: Option<(Duration, Main)>,
    ended: Option<Result<u8, ServiceError>>,
}

fn handoff() -> MutexGuard<'static, Handoff> {
    HANDOFF.lock().unwrap_or_else(PoisonError::into_inner)
}
