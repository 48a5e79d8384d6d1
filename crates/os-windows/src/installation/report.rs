use std::ffi::OsString;
use std::fmt;

use windows_service::service::{ServiceConfig, ServiceExitCode, ServiceState, ServiceStatus};

/// The state of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Where it is in its life.
    pub state: RunState,
    /// Its process, if it has one.
    pub process_id: Option<u32>,
    /// How it ended last; nothing to go by while it runs.
    pub ending: Ending,
    /// The command line of its start.
    pub command_line: OsString,
    /// Its account, if the system reports it.
    pub account: Option<OsString>,
}

/// Where a service is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It goes on after a pause.
    Continuing,
    /// It is paused.
    Paused,
    /// It is about to pause.
    Pausing,
    /// It does its work.
    Running,
    /// It is about to run.
    Starting,
    /// It does not run.
    Stopped,
    /// It is about to end.
    Stopping,
}

/// How a service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a code of its own.
    Own(u32),
    /// With a code of Windows; 0 is well.
    Win32(u32),
}

impl Report {
    pub(super) fn of(status: &ServiceStatus, config: ServiceConfig) -> Self {
        Self {
            state: RunState::of(status.current_state),
            // While a service stops, some systems name process 0.
            process_id: status.process_id.filter(|id| *id != 0),
            ending: Ending::of(status),
            command_line: config.executable_path.into_os_string(),
            account: config.account_name,
        }
    }
}

impl RunState {
    pub(super) fn of(state: ServiceState) -> Self {
        match state {
            ServiceState::ContinuePending => Self::Continuing,
            ServiceState::PausePending => Self::Pausing,
            ServiceState::Paused => Self::Paused,
            ServiceState::Running => Self::Running,
            ServiceState::StartPending => Self::Starting,
            ServiceState::StopPending => Self::Stopping,
            ServiceState::Stopped => Self::Stopped,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Continuing => "continuing",
            Self::Paused => "paused",
            Self::Pausing => "pausing",
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Stopped => "stopped",
            Self::Stopping => "stopping",
        })
    }
}

impl Ending {
    pub(super) fn of(status: &ServiceStatus) -> Self {
        match status.exit_code {
            ServiceExitCode::ServiceSpecific(code) => Self::Own(code),
            ServiceExitCode::Win32(code) => Self::Win32(code),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(code) => write!(f, "exit code {code} of its own"),
            Self::Win32(code) => write!(f, "exit code {code} of Windows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ending;

    #[test]
    fn whose_code_it_is_is_said() {
        assert_eq!(Ending::Own(1).to_string(), "exit code 1 of its own");
        assert_eq!(Ending::Win32(1067).to_string(), "exit code 1067 of Windows");
    }
}
