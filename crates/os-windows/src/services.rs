use std::ffi::OsString;

use os::{Cause, Deadline, ServiceInfo, ServiceState, Services, StartType, Win32};
use windows_sys::Win32::System::Services as codes;

use crate::failure;
use crate::raw::service::{Purpose, Service};
use crate::wide::Wide;

/// The machine's services, by the service control manager. Windows has no bound for its calls, so
/// deadlines are the caller's to keep.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeServices;

impl NativeServices {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Services for NativeServices {
    fn query(&self, name: &str) -> os::Result<ServiceInfo> {
        let service = open(name, Purpose::Query)?;
        let config = service
            .config()
            .map_err(|cause| failure::error("QueryServiceConfigW", name, cause))?;
        let start_type = start_type(config.start_type)
            .map_err(|cause| failure::error("QueryServiceConfigW", name, cause))?;
        let state = service
            .state()
            .map_err(Cause::from)
            .and_then(state)
            .map_err(|cause| failure::error("QueryServiceStatusEx", name, cause))?;
        let display_name = lossy(&config.display_name);
        let mut info = ServiceInfo::new(display_name, start_type, state);
        info.command = Some(lossy(&config.command));
        Ok(info)
    }

    /// Includes indirect dependents: by the call's documentation the order is the reverse of their
    /// start order.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumdependentservicesw>
    fn running_dependents(&self, name: &str) -> os::Result<Vec<String>> {
        let names = open(name, Purpose::ListDependents)?
            .running_dependents()
            .and_then(|names| names.into_iter().map(exact).collect())
            .map_err(|cause| failure::error("EnumDependentServicesW", name, cause))?;
        Ok(names)
    }

    fn start(&self, name: &str, _deadline: Deadline) -> os::Result<()> {
        open(name, Purpose::Start)?
            .start()
            .map_err(|code| failure::error("StartServiceW", name, code))
    }

    fn stop(&self, name: &str, _deadline: Deadline) -> os::Result<()> {
        open(name, Purpose::Stop)?
            .stop()
            .map_err(|code| failure::error("ControlService", name, code))
    }
}

/// Units of the longest name of a service. The manager's protocol bounds the name (`SC_MAX_NAME_LENGTH`, with the NUL),
/// so a longer one would fail with a code of RPC and not of the manager.
///
/// <https://learn.microsoft.com/openspecs/windows_protocols/ms-scmr/6d0a4225-451b-4132-894d-7cef7aecfd2d>
const LONGEST_NAME: usize = 256;

/// An impossible name counts as that of a missing service.
fn open(name: &str, purpose: Purpose) -> os::Result<Service> {
    possible(name)
        .and_then(|name| Service::open(&name, purpose))
        .map_err(|code| match code {
            Win32::INVALID_NAME => Win32::NO_SUCH_SERVICE,
            code => code,
        })
        .map_err(|code| failure::error("OpenServiceW", name, code))
}

fn possible(name: &str) -> Result<Wide, Win32> {
    match name.encode_utf16().count() {
        0..=LONGEST_NAME => Wide::new(name),
        _ => Err(Win32::INVALID_NAME),
    }
}

fn start_type(code: u32) -> Result<StartType, Cause> {
    match code {
        codes::SERVICE_AUTO_START => Ok(StartType::Automatic),
        codes::SERVICE_BOOT_START => Ok(StartType::Boot),
        codes::SERVICE_DEMAND_START => Ok(StartType::Manual),
        codes::SERVICE_DISABLED => Ok(StartType::Disabled),
        codes::SERVICE_SYSTEM_START => Ok(StartType::System),
        other => Err(Cause::Malformed(format!("no start type: {other}"))),
    }
}

fn state(code: u32) -> Result<ServiceState, Cause> {
    match code {
        codes::SERVICE_CONTINUE_PENDING => Ok(ServiceState::ContinuePending),
        codes::SERVICE_PAUSE_PENDING => Ok(ServiceState::PausePending),
        codes::SERVICE_PAUSED => Ok(ServiceState::Paused),
        codes::SERVICE_RUNNING => Ok(ServiceState::Running),
        codes::SERVICE_START_PENDING => Ok(ServiceState::StartPending),
        codes::SERVICE_STOP_PENDING => Ok(ServiceState::StopPending),
        codes::SERVICE_STOPPED => Ok(ServiceState::Stopped),
        other => Err(Cause::Malformed(format!("no service state: {other}"))),
    }
}

/// A name for further queries.
fn exact(name: OsString) -> Result<String, Cause> {
    name.into_string()
        .map_err(|name| Cause::Malformed(format!("a service's name is no Unicode: {name:?}")))
}

/// A display name or a command line.
fn lossy(name: &OsString) -> String {
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use os::{Deadline, ServiceState, Services, StartType, Win32};

    use super::{NativeServices, start_type, state};

    /// csi-proxy answers `BOOT` for an unknown start type (its zero value).
    #[test]
    fn what_is_no_start_type_or_state_is_an_error() {
        assert_eq!(start_type(0), Ok(StartType::Boot));
        assert_eq!(start_type(4), Ok(StartType::Disabled));
        assert!(start_type(5).is_err());
        assert!(start_type(u32::MAX).is_err());
        assert_eq!(state(1), Ok(ServiceState::Stopped));
        assert_eq!(state(7), Ok(ServiceState::Paused));
        assert!(state(0).is_err());
        assert!(state(8).is_err());
    }

    #[test]
    fn names_that_no_service_can_have_are_of_no_service() {
        let services = NativeServices::new();
        for name in ["", "a\0b", r"a\b", "a/b", &"x".repeat(257)] {
            let found = services.query(name).err().and_then(|error| error.win32());
            assert_eq!(found, Some(Win32::NO_SUCH_SERVICE), "{name:?}");
            let started = services.start(name, Deadline::NEVER).err();
            let code = started.and_then(|error| error.win32());
            assert_eq!(code, Some(Win32::NO_SUCH_SERVICE), "{name:?}");
        }
    }
}
