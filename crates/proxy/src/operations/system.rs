use node::{Dependents, FirmwareError, ServiceError, ServiceName};
use os::{Deadline, ServiceInfo};

use super::PipeOperations;

type Result<T> = std::result::Result<T, ServiceError>;

impl PipeOperations {
    pub(crate) fn bios_serial_number(
        &self,
        deadline: Deadline,
    ) -> std::result::Result<String, FirmwareError> {
        self.node.operations().firmware().serial_number(deadline)
    }

    pub(crate) fn service(&self, name: &str, deadline: Deadline) -> Result<ServiceInfo> {
        let name = ServiceName::parse(name)?;
        self.node.operations().services().service(&name, deadline)
    }

    pub(crate) fn start_service(&self, name: &str, deadline: Deadline) -> Result<()> {
        let name = ServiceName::parse(name)?;
        self.node.operations().services().start(&name, deadline)
    }

    pub(crate) fn stop_service(
        &self,
        name: &str,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<()> {
        let name = ServiceName::parse(name)?;
        self.node
            .operations()
            .services()
            .stop(&name, dependents, deadline)
    }
}
