use crate::{Deadline, Result};

/// The service control manager.
pub trait Services: Send + Sync {
    /// The service control manager's information about a service.
    ///
    /// # Errors
    /// [`crate::Win32::NO_SUCH_SERVICE`].
    fn query(&self, name: &str) -> Result<ServiceInfo>;

    /// The names of the running services that depend on this one (`EnumDependentServicesW`), in the order in
    /// which they must be stopped.
    ///
    /// # Errors
    /// As [`Services::query`].
    fn running_dependents(&self, name: &str) -> Result<Vec<String>>;

    /// Asks a service to start; does not wait for it.
    ///
    /// # Errors
    /// [`crate::Win32::SERVICE_ALREADY_RUNNING`], [`crate::Win32::SERVICE_DISABLED`], no such service.
    fn start(&self, name: &str, deadline: Deadline) -> Result<()>;

    /// Asks a service to stop; does not wait for it.
    ///
    /// # Errors
    /// [`crate::Win32::SERVICE_NOT_ACTIVE`], [`crate::Win32::DEPENDENT_SERVICES_RUNNING`],
    /// [`crate::Win32::SERVICE_CANNOT_ACCEPT_CTRL`] on its way up or down, no such service.
    fn stop(&self, name: &str, deadline: Deadline) -> Result<()>;
}

/// The properties of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceInfo {
    /// Its name for people.
    pub display_name: String,
    /// When it starts.
    pub start_type: StartType,
    /// Its current state.
    pub state: ServiceState,
    /// How its process is started (`QUERY_SERVICE_CONFIGW.lpBinaryPathName`); `None` if the backend does not report it.
    pub command: Option<String>,
}

impl ServiceInfo {
    /// A service with this name for people.
    #[must_use]
    pub fn new(
        display_name: impl Into<String>,
        start_type: StartType,
        state: ServiceState,
    ) -> Self {
        Self {
            display_name: display_name.into(),
            start_type,
            state,
            command: None,
        }
    }
}

/// `SERVICE_*_START`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StartType {
    /// With the system.
    Automatic,
    /// By the boot loader.
    Boot,
    /// Never.
    Disabled,
    /// On demand.
    Manual,
    /// During kernel initialisation.
    System,
}

/// `SERVICE_STATUS.dwCurrentState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServiceState {
    /// Going on after a pause.
    ContinuePending,
    /// About to pause.
    PausePending,
    /// Paused.
    Paused,
    /// Running.
    Running,
    /// Starting.
    StartPending,
    /// Stopping.
    StopPending,
    /// Not running.
    Stopped,
}
