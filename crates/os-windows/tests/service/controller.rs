//! The case's side: a service installed for one case and removed after it.

use std::error::Error;
use std::ffi::OsString;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{io, thread};

use windows_service::service::{
    Service, ServiceAccess, ServiceDependency, ServiceErrorControl, ServiceInfo, ServiceStartType,
    ServiceStatus, ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

use super::servant;
use super::wire::{TIMEOUT, Wire};

/// A running service, seen over the wire and by the service control manager.
pub(crate) struct RunningService {
    pub(crate) wire: Wire,
    installed: Installed,
}

impl RunningService {
    /// Installs this program as a service and starts it; it has reported its start.
    pub(crate) fn in_mode(mode: &str) -> Result<Self, Box<dyn Error>> {
        Self::depending_on(Vec::new(), mode)
    }

    /// The same, and this service cannot do without it.
    pub(crate) fn dependent(&self, mode: &str) -> Result<Self, Box<dyn Error>> {
        let base = ServiceDependency::Service(self.name().into());
        Self::depending_on(vec![base], mode)
    }

    pub(crate) fn name(&self) -> &str {
        &self.installed.name
    }

    fn depending_on(
        dependencies: Vec<ServiceDependency>,
        mode: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let installed = Installed::new(mode, port, dependencies)?;
        installed.start()?;
        let mut wire = accept(listener)?;
        let word = wire.hear()?;
        if word != "starting" {
            return Err(format!("the service said {word:?}").into());
        }
        Ok(Self { wire, installed })
    }

    pub(crate) fn status(&self) -> windows_service::Result<ServiceStatus> {
        self.installed.service.query_status()
    }

    pub(crate) fn stop(&self) -> windows_service::Result<ServiceStatus> {
        self.installed.service.stop()
    }
}

struct Installed {
    name: String,
    service: Service,
}

impl Installed {
    fn new(
        mode: &str,
        port: u16,
        dependencies: Vec<ServiceDependency>,
    ) -> Result<Self, Box<dyn Error>> {
        let name = format!("wincsi-test-{mode}-{port}");
        let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
        let manager = ServiceManager::local_computer(None::<&str>, access)?;
        let info = ServiceInfo {
            name: name.clone().into(),
            display_name: format!("wincsi test: {mode} {port}").into(),
            service_type: ServiceType::OWN_PROCESS,
            start_type: ServiceStartType::OnDemand,
            error_control: ServiceErrorControl::Normal,
            executable_path: std::env::current_exe()?,
            launch_arguments: [servant::FLAG, &port.to_string(), mode]
                .map(OsString::from)
                .to_vec(),
            dependencies,
            account_name: None,
            account_password: None,
        };
        let access = ServiceAccess::START
            | ServiceAccess::STOP
            | ServiceAccess::QUERY_STATUS
            | ServiceAccess::DELETE;
        let service = manager.create_service(&info, access)?;
        Ok(Self { name, service })
    }
}

impl Installed {
    /// While a system starts its own services, it locks its database; a fresh one does so for a while.
    fn start(&self) -> windows_service::Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.service.start::<OsString>(&[]) {
                Err(windows_service::Error::Winapi(error))
                    if error.raw_os_error() == Some(DATABASE_LOCKED)
                        && Instant::now() < deadline =>
                {
                    thread::park_timeout(PAUSE);
                }
                outcome => return outcome,
            }
        }
    }
}

/// ERROR_SERVICE_DATABASE_LOCKED.
const DATABASE_LOCKED: i32 = 1055;

/// Leaves the processor to the lock's holders.
const PAUSE: Duration = Duration::from_millis(20);

impl Drop for Installed {
    /// A running service stays until it has ended.
    fn drop(&mut self) {
        let _ = self.service.stop();
        let _ = self.service.delete();
    }
}

fn accept(listener: TcpListener) -> io::Result<Wire> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(listener.accept()));
    let accepted = receiver.recv_timeout(TIMEOUT);
    let (stream, _) = accepted.map_err(io::Error::other)??;
    Wire::over(stream)
}
