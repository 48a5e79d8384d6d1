//! A service of ours in the service control manager's database: installed, removed, started, stopped.
//!
//! Every wait is bounded, and every operation may be repeated: an already reached state is an answer, not an error.

mod error;
mod report;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use windows_service::service::{
    Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceErrorControl,
    ServiceFailureActions, ServiceFailureResetPeriod, ServiceInfo, ServiceStartType, ServiceState,
    ServiceStatus, ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

pub use error::InstallationError;
pub use report::{Ending, Report, RunState};

pub(crate) use error::cause;

use error::code;

use crate::failure;
use crate::raw::security;
use crate::wide::Wide;

/// A service as it is to be installed: its own process, started with the system, as LocalSystem, and
/// started again after `restart_delay` whenever it fails.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name in the service control manager's database.
    pub name: String,
    /// The name shown to people.
    pub display_name: String,
    /// Its purpose, in a sentence.
    pub description: String,
    /// The program.
    pub executable: PathBuf,
    /// Its arguments; they are quoted as `CommandLineToArgvW` reads them.
    pub arguments: Vec<OsString>,
    /// How long after a failure it is started again.
    pub restart_delay: Duration,
}

/// The result of [`install`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Whether the service was there before.
    pub change: Change,
    /// Settings refused by this system, and the consequences.
    pub warnings: Vec<String>,
}

/// Whether a service was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was not.
    Created,
    /// It was: its configuration is replaced, and in force from its next start.
    Updated,
}

/// The result of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// There was no such service.
    Absent,
    /// It goes when the last program closes its handle.
    Marked,
    /// It is gone.
    Removed,
}

/// Whether something had to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// It was so already.
    AlreadySo,
    /// It is so now.
    Done,
}

/// Installs a service, or gives an existing one this definition.
///
/// # Errors
/// The caller is no administrator, or the system refuses.
pub fn install(definition: &Definition) -> Result<Installation, InstallationError> {
    let failed = |operation| InstallationError::call(operation, &definition.name);
    let manager = manager(ServiceManagerAccess::CREATE_SERVICE, &definition.name)?;
    let access = ServiceAccess::CHANGE_CONFIG | ServiceAccess::START | ServiceAccess::QUERY_STATUS;
    let info = info(definition);
    let (service, change) = match manager.create_service(&info, access) {
        Ok(service) => (service, Change::Created),
        Err(error) if code(&error) == Some(SERVICE_EXISTS) => {
            let opened = manager.open_service(&definition.name, access);
            let service = opened.map_err(failed("open"))?;
            service.change_config(&info).map_err(failed("configure"))?;
            (service, Change::Updated)
        }
        Err(error) => return Err(failed("create")(error)),
    };
    service
        .set_description(&definition.description)
        .map_err(failed("describe"))?;
    service
        .update_failure_actions(restart(definition.restart_delay))
        .map_err(failed("set the failure actions of"))?;
    let warnings =
        restart_after_failed_starts(&service).map_err(failed("set the failure flag of"))?;
    Ok(Installation {
        change,
        warnings: warnings.into_iter().collect(),
    })
}

/// The owner and access control list of a file or folder, in the security descriptor definition language.
///
/// # Errors
/// It does not exist, or the caller may not read them.
pub fn rights_of(path: &Path) -> os::Result<String> {
    let of = || Wide::new(path).and_then(|wide| security::owner_and_dacl(&wide));
    of().map_err(|code| failure::error("GetNamedSecurityInfoW", path.display(), code))
}

/// Stops a service if it runs, waiting at most `patience` for its end, and removes it.
///
/// # Errors
/// It does not stop in time, the caller is no administrator, or the system refuses.
pub fn uninstall(name: &str, patience: Duration) -> Result<Removal, InstallationError> {
    match stop(name, patience) {
        Err(InstallationError::Absent(_)) => return Ok(Removal::Absent),
        stopped => stopped?,
    };
    let Some(service) = open(name, ServiceAccess::DELETE)? else {
        return Ok(Removal::Absent);
    };
    match service.delete() {
        Err(error) if code(&error) != Some(MARKED_FOR_DELETE) => {
            return Err(InstallationError::call("remove", name)(error));
        }
        _ => drop(service),
    }
    let gone = until(Instant::now() + LAST_HANDLES, || {
        Ok(open(name, ServiceAccess::QUERY_STATUS)?
            .is_none()
            .then_some(()))
    });
    Ok(gone?.map_or(Removal::Marked, |()| Removal::Removed))
}

/// Starts a service, and waits at most `patience` until it runs.
///
/// # Errors
/// It is not installed, it ends again, it does not run in time, or the system refuses.
pub fn start(name: &str, patience: Duration) -> Result<Effort, InstallationError> {
    let access = ServiceAccess::START | ServiceAccess::QUERY_STATUS;
    let service = existing(name, access)?;
    let deadline = Instant::now() + patience;
    // While the system starts its own services, it locks its database.
    let launched = until(deadline, || match service.start::<OsString>(&[]) {
        Ok(()) => Ok(Some(Effort::Done)),
        Err(error) => match code(&error) {
            Some(DATABASE_LOCKED) => Ok(None),
            Some(ALREADY_RUNNING) => Ok(Some(Effort::AlreadySo)),
            _ => Err(InstallationError::call("start", name)(error)),
        },
    });
    let effort = launched?.ok_or_else(|| late(&service, name, patience))?;
    let running = until(deadline, || {
        let status = query(&service, name)?;
        match status.current_state {
            ServiceState::Running => Ok(Some(())),
            ServiceState::Stopped => Err(InstallationError::Ended {
                name: name.to_owned(),
                ending: Ending::of(&status),
            }),
            _ => Ok(None),
        }
    });
    running?.ok_or_else(|| late(&service, name, patience))?;
    Ok(effort)
}

/// Stops a service, and waits at most `patience` until it has ended: longer if the service itself announces it.
///
/// # Errors
/// It is not installed, it does not end in time, or the system refuses.
pub fn stop(name: &str, patience: Duration) -> Result<Effort, InstallationError> {
    let access = ServiceAccess::STOP | ServiceAccess::QUERY_STATUS;
    let service = existing(name, access)?;
    let mut patience = patience;
    let mut deadline = Instant::now() + patience;
    let mut effort = Effort::Done;
    let asked = until(deadline, || match service.stop() {
        Ok(status) => Ok(Some(status.wait_hint)),
        Err(error) => match code(&error) {
            Some(NOT_ACTIVE) => {
                effort = Effort::AlreadySo;
                Ok(Some(Duration::ZERO))
            }
            // It is starting, or stops already; some systems return one code, some the other.
            Some(CANNOT_ACCEPT | INVALID_CONTROL) => is_stopping(&service, name),
            _ => Err(InstallationError::call("stop", name)(error)),
        },
    });
    asked?.ok_or_else(|| late(&service, name, patience))?;
    let stopped = until_extended(&mut deadline, |deadline| {
        let status = query(&service, name)?;
        if status.wait_hint > patience {
            *deadline += status.wait_hint - patience;
            patience = status.wait_hint;
        }
        Ok((status.current_state == ServiceState::Stopped).then_some(()))
    });
    stopped?.ok_or_else(|| late(&service, name, patience))?;
    Ok(effort)
}

/// A service's state; `None` if none of this name is installed.
///
/// # Errors
/// The system does not say.
pub fn status(name: &str) -> Result<Option<Report>, InstallationError> {
    let access = ServiceAccess::QUERY_STATUS | ServiceAccess::QUERY_CONFIG;
    let Some(service) = open(name, access)? else {
        return Ok(None);
    };
    let status = query(&service, name)?;
    let config = service
        .query_config()
        .map_err(InstallationError::call("query the configuration of", name))?;
    Ok(Some(Report::of(&status, config)))
}

// Codes of winerror.h.
const CANNOT_ACCEPT: i32 = 1061;
const DOES_NOT_EXIST: i32 = 1060;
const INVALID_CONTROL: i32 = 1052;
const INVALID_LEVEL: i32 = 124;
const ALREADY_RUNNING: i32 = 1056;
const DATABASE_LOCKED: i32 = 1055;
const MARKED_FOR_DELETE: i32 = 1072;
const NOT_ACTIVE: i32 = 1062;
const SERVICE_EXISTS: i32 = 1073;

/// How often a state is looked at.
const PACE: Duration = Duration::from_millis(50);

/// How long a removal waits for others to let the service go.
const LAST_HANDLES: Duration = Duration::from_secs(5);

fn info(definition: &Definition) -> ServiceInfo {
    ServiceInfo {
        name: definition.name.clone().into(),
        display_name: definition.display_name.clone().into(),
        service_type: ServiceType::OWN_PROCESS,
        start_type: ServiceStartType::AutoStart,
        error_control: ServiceErrorControl::Normal,
        executable_path: definition.executable.clone(),
        launch_arguments: definition.arguments.clone(),
        dependencies: Vec::new(),
        // By name: in a change of configuration, none would leave the account as it was.
        account_name: Some(OsString::from("LocalSystem")),
        account_password: Some(OsString::new()),
    }
}

/// One action, for the first failure and for all after it.
fn restart(delay: Duration) -> ServiceFailureActions {
    ServiceFailureActions {
        reset_period: ServiceFailureResetPeriod::After(Duration::ZERO),
        reboot_msg: None,
        command: None,
        actions: Some(vec![ServiceAction {
            action_type: ServiceActionType::Restart,
            delay,
        }]),
    }
}

/// Enables failure actions for a stop with an exit code, too. A system without this setting gets a warning, not an
/// error.
fn restart_after_failed_starts(service: &Service) -> windows_service::Result<Option<String>> {
    match service.set_failure_actions_on_non_crash_failures(true) {
        Err(error) if code(&error) == Some(INVALID_LEVEL) => Ok(Some(String::from(
            "this system restarts a service after a crash alone, not after a failed start",
        ))),
        outcome => outcome.map(|()| None),
    }
}

fn manager(access: ServiceManagerAccess, name: &str) -> Result<ServiceManager, InstallationError> {
    ServiceManager::local_computer(None::<&str>, ServiceManagerAccess::CONNECT | access).map_err(
        InstallationError::call("open the service control manager for", name),
    )
}

fn open(name: &str, access: ServiceAccess) -> Result<Option<Service>, InstallationError> {
    let manager = manager(ServiceManagerAccess::CONNECT, name)?;
    match manager.open_service(name, access) {
        Ok(service) => Ok(Some(service)),
        Err(error) if code(&error) == Some(DOES_NOT_EXIST) => Ok(None),
        Err(error) => Err(InstallationError::call("open", name)(error)),
    }
}

fn existing(name: &str, access: ServiceAccess) -> Result<Service, InstallationError> {
    open(name, access)?.ok_or_else(|| InstallationError::Absent(name.to_owned()))
}

fn query(service: &Service, name: &str) -> Result<ServiceStatus, InstallationError> {
    service
        .query_status()
        .map_err(InstallationError::call("query", name))
}

fn is_stopping(service: &Service, name: &str) -> Result<Option<Duration>, InstallationError> {
    let status = query(service, name)?;
    let is_ending = matches!(
        status.current_state,
        ServiceState::StopPending | ServiceState::Stopped
    );
    Ok(is_ending.then_some(status.wait_hint))
}

fn late(service: &Service, name: &str, patience: Duration) -> InstallationError {
    match query(service, name) {
        Ok(status) => InstallationError::Late {
            name: name.to_owned(),
            state: RunState::of(status.current_state),
            patience,
        },
        Err(error) => error,
    }
}

fn until<T>(
    mut deadline: Instant,
    mut look: impl FnMut() -> Result<Option<T>, InstallationError>,
) -> Result<Option<T>, InstallationError> {
    until_extended(&mut deadline, |_| look())
}

/// Polls until there is an answer or the deadline has passed; a poll may move the deadline.
fn until_extended<T>(
    deadline: &mut Instant,
    mut look: impl FnMut(&mut Instant) -> Result<Option<T>, InstallationError>,
) -> Result<Option<T>, InstallationError> {
    loop {
        if let Some(answer) = look(deadline)? {
            return Ok(Some(answer));
        }
        if Instant::now() >= *deadline {
            return Ok(None);
        }
        thread::sleep(PACE);
    }
}
