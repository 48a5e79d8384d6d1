use std::ffi::OsString;
use std::panic;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use windows_service::define_windows_service;
use windows_service::service::ServiceControl;
use windows_service::service::ServiceControlAccept;
use windows_service::service::ServiceExitCode;
use windows_service::service::ServiceState;
use windows_service::service::ServiceStatus;
use windows_service::service::ServiceType;
use windows_service::service_control_handler;
use windows_service::service_control_handler::ServiceControlHandlerResult;
use windows_service::service_control_handler::ServiceStatusHandle;
use windows_service::service_dispatcher;

/// The name that csi-proxy registers for. The service control manager ignores it for a service with a
/// process of its own, so it binds nobody who installs the service under another name.
const NAME: &str = "csiproxy";

/// How long the service control manager waits for the next word while we start or stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a failed service ends with, as a code of its own.
const FAILED: u32 = 1;

/// Runs `main` as a service, on a thread of the service control manager, until it returns.
///
/// The service is starting until `main` calls [`ServiceHandle::running`]. Stop and shutdown reach it
/// through [`ServiceHandle::wait_for_stop`] or [`ServiceHandle::on_stop`]; the service is stopping
/// until `main` returns, and stopped then: with code 0 for [`ExitCode::SUCCESS`], else with 1 as the
/// service's own code. A panic in `main` counts as failure.
///
/// # Errors
/// The process was not started by the service control manager, or runs a service already.
pub fn run_as_service(
    main: impl FnOnce(ServiceHandle) -> ExitCode + Send + 'static,
) -> Result<ExitCode, ServiceError> {
    {
        let mut stage = stage();
        if stage.is_busy {
            return Err(ServiceError::Busy);
        }
        stage.is_busy = true;
        stage.main = Some(Box::new(main));
    }
    let dispatched = service_dispatcher::start(NAME, service_main);
    let ended = {
        let mut stage = stage();
        stage.is_busy = false;
        stage.main = None;
        stage.ended.take()
    };
    dispatched.map_err(ServiceError::NotAService)?;
    ended.unwrap_or(Ok(ExitCode::FAILURE))
}

/// Why the process cannot be a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It is one already.
    #[error("this process runs a service already")]
    Busy,
    /// The service control manager did not start it.
    #[error("the service control manager did not start this process")]
    NotAService(#[source] windows_service::Error),
    /// The service control manager took no handler for its requests.
    #[error("register for service control requests")]
    Register(#[source] windows_service::Error),
}

/// The service as its own code sees it. Cheap to clone.
#[derive(Clone)]
pub struct ServiceHandle {
    shared: Arc<Shared>,
}

impl ServiceHandle {
    /// Tells the service control manager that the service does its work now. Says nothing once it is
    /// being stopped.
    pub fn running(&self) {
        let mut state = self.shared.state();
        if state.phase == Phase::Starting {
            state.phase = Phase::Running;
            state.report(ServiceExitCode::NO_ERROR);
        }
    }

    /// Whether a stop has been asked for.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.state().phase == Phase::Stopping
    }

    /// Waits until a stop is asked for.
    pub fn wait_for_stop(&self) {
        let state = self.shared.state();
        let waited = self
            .shared
            .changed
            .wait_while(state, |state| state.phase != Phase::Stopping);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Has `stop` run when a stop is asked for, on the service control manager's thread, which it
    /// must not keep; at once when that was before.
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
        state.phase = Phase::Stopping;
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
    /// A status that is not taken leaves the manager with the one before; the work goes on.
    fn report(&self, exit_code: ServiceExitCode) {
        let Some(handle) = &self.status else { return };
        let reported = handle.set_service_status(ServiceStatus {
            service_type: ServiceType::OWN_PROCESS,
            current_state: self.phase.state(),
            controls_accepted: self.phase.accepted(),
            exit_code,
            checkpoint: 0,
            wait_hint: self.phase.wait_hint(),
            process_id: None,
        });
        if let Err(error) = reported {
            tracing::warn!(%error, phase = ?self.phase, "the service control manager took no status");
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

    fn wait_hint(self) -> Duration {
        match self {
            Self::Starting | Self::Stopping => PATIENCE,
            Self::Running | Self::Stopped => Duration::ZERO,
        }
    }
}

define_windows_service!(service_main, on_service_thread);

/// Entered by the service control manager, which passes nothing of ours along: the stage does.
fn on_service_thread(_arguments: Vec<OsString>) {
    let Some(main) = stage().main.take() else {
        return;
    };
    if let Err(error) = serve(main) {
        stage().ended = Some(Err(error));
    }
}

fn serve(main: Main) -> Result<(), ServiceError> {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            phase: Phase::Starting,
            status: None,
            stops: Vec::new(),
        }),
        changed: Condvar::new(),
    });
    let handler = Arc::clone(&shared);
    let status = service_control_handler::register(NAME, move |control| handler.control(control))
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
    let code = code.unwrap_or(ExitCode::FAILURE);
    // Before the report: the dispatcher returns on that, and the process may end.
    stage().ended = Some(Ok(code));
    let mut state = shared.state();
    state.phase = Phase::Stopped;
    state.report(exit_code(code));
    Ok(())
}

fn exit_code(code: ExitCode) -> ServiceExitCode {
    if code == ExitCode::SUCCESS {
        ServiceExitCode::NO_ERROR
    } else {
        ServiceExitCode::ServiceSpecific(FAILED)
    }
}

type Main = Box<dyn FnOnce(ServiceHandle) -> ExitCode + Send>;

/// What passes between [`run_as_service`] and the thread that the service control manager makes.
static STAGE: Mutex<Stage> = Mutex::new(Stage {
    is_busy: false,
    main: None,
    ended: None,
});

struct Stage {
    is_busy: bool,
    main: Option<Main>,
    ended: Option<Result<ExitCode, ServiceError>>,
}

fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}
