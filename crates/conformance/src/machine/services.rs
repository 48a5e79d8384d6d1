//! Services of the suite's own: this program with another argument.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use node::api::NodeApi;
use node::{Dependents, Node, ServiceName};
use os::{Error, StartType, Win32};
use windows_service::service::{
    ServiceAccess, ServiceDependency, ServiceErrorControl, ServiceInfo, ServiceStartType,
    ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

use crate::names;

/// This machine's service for sharing folders.
const SERVER: &str = "LanmanServer";

/// How long it may take to stop or start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The program's argument as a service.
const ARGUMENT: &str = "--as-service";

/// Does nothing until it is stopped.
///
/// # Errors
/// The service control manager did not start this process.
pub fn serve() -> Result<(), String> {
    let served = os_windows::run_as_service(Duration::from_secs(20), |service| {
        service.running();
        service.wait_for_stop();
        0
    });
    served.map(drop).map_err(|error| error.to_string())
}

/// Installs all of them, stopped, to be started on demand.
pub(super) fn install() -> os::Result<()> {
    install_one(names::IDLE_SERVICE, &[])?;
    install_one(names::BASE_SERVICE, &[])?;
    install_one(names::DEPENDENT_SERVICE, &[names::BASE_SERVICE])
}

/// Stops and removes one; a missing one is success.
pub(super) fn remove(name: &str) -> os::Result<()> {
    let failed = |error| failed("DeleteService", name, &error);
    let access = ServiceManagerAccess::CONNECT;
    let manager = ServiceManager::local_computer(None::<&str>, access).map_err(failed)?;
    let access = ServiceAccess::STOP | ServiceAccess::DELETE;
    let service = match manager.open_service(name, access).map_err(failed) {
        Err(error) if error.win32() == Some(Win32::NO_SUCH_SERVICE) => return Ok(()),
        opened => opened?,
    };
    // A stopped one returns an error; one that does not stop goes with its process.
    let _ = service.stop();
    service.delete().map_err(failed)
}

/// Stops the Server service, used for all of this machine's shares: its own share goes away, as with a server's
/// shutdown, and so do all others of this machine.
pub(super) fn stop_server(node: &Node) -> os::Result<()> {
    let failed = |error: String| Error::new("StopService", error, Win32::GEN_FAILURE);
    let server = ServiceName::parse(SERVER).map_err(|error| failed(error.to_string()))?;
    let api: &dyn NodeApi = node;
    let deadline = api.deadline(TIMEOUT);
    let stopped = api
        .system()
        .stop_service(&server, Dependents::Refuse, deadline);
    stopped.map_err(|error| failed(error.to_string()))
}

/// Starts the Server service. A running one is success, and so is one that cannot start: the suite did not stop it.
pub(super) fn start_server(node: &Node) -> os::Result<()> {
    match node.os().services.query(SERVER) {
        Ok(found) if found.start_type != StartType::Disabled => {}
        Ok(_) => return Ok(()),
        Err(error) if error.win32() == Some(Win32::NO_SUCH_SERVICE) => return Ok(()),
        Err(error) => return Err(error),
    }
    let failed = |error: String| Error::new("StartService", error, Win32::GEN_FAILURE);
    let server = ServiceName::parse(SERVER).map_err(|error| failed(error.to_string()))?;
    let api: &dyn NodeApi = node;
    let started = api.system().start_service(&server, api.deadline(TIMEOUT));
    started.map_err(|error| failed(error.to_string()))
}

fn install_one(name: &str, needs: &[&str]) -> os::Result<()> {
    let failed = |error| failed("CreateServiceW", name, &error);
    let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
    let manager = ServiceManager::local_computer(None::<&str>, access).map_err(failed)?;
    let program = env::current_exe().map_err(windows_service::Error::Winapi);
    let dependencies = needs.iter().map(|needed| {
        let needed = OsString::from(needed);
        ServiceDependency::Service(needed)
    });
    let info = ServiceInfo {
        name: name.into(),
        display_name: name.into(),
        service_type: ServiceType::OWN_PROCESS,
        start_type: ServiceStartType::OnDemand,
        error_control: ServiceErrorControl::Normal,
        executable_path: program.map_err(failed)?,
        launch_arguments: vec![ARGUMENT.into()],
        dependencies: dependencies.collect(),
        account_name: None,
        account_password: None,
    };
    let service = manager.create_service(&info, ServiceAccess::CHANGE_CONFIG);
    let service = service.map_err(failed)?;
    service.set_description(names::REMARK).map_err(failed)
}

fn failed(operation: &'static str, name: &str, error: &windows_service::Error) -> Error {
    let code = match error {
        windows_service::Error::Winapi(source) => source.raw_os_error(),
        _ => None,
    };
    let code = code.and_then(|code| u32::try_from(code).ok());
    Error::new(operation, name, code.map_or(Win32::GEN_FAILURE, Win32))
}
