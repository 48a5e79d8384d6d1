use node::api::{Feature, Result, System};
use node::{Dependents, ServiceName};
use os::{BootId, Deadline, ServiceInfo, ServiceState, StartType};
use wire::system::v1alpha1;

use super::{Read, lacks, malformed};
use crate::Node;
use crate::dialect::dialects;

impl System for Node {
    fn boot_id(&self, _deadline: Deadline) -> Result<BootId> {
        let object = "the boot id";
        Err(lacks("read", object, object, Feature::SystemIdentity))
    }

    fn command_lines(&self, program: &str, _deadline: Deadline) -> Result<Vec<Option<String>>> {
        let operation = "read the command lines of";
        Err(lacks(operation, program, program, Feature::SystemIdentity))
    }

    fn computer_name(&self, _deadline: Deadline) -> Result<String> {
        let object = "the computer's name";
        Err(lacks("read", object, object, Feature::SystemIdentity))
    }

    fn uuid(&self, _deadline: Deadline) -> Result<String> {
        let object = "the UUID";
        Err(lacks("read", object, object, Feature::SystemIdentity))
    }

    /// csi-proxy before 1.3 leaves blanks behind it.
    fn serial_number(&self, deadline: Deadline) -> Result<String> {
        let spoken = dialects![
            system[v1alpha1] GetBiosSerialNumber: GetBiosSerialNumberRequest {} => |answer| {
                Ok(answer.serial_number.trim().to_owned())
            };
        ];
        self.look("read the firmware's serial number", &[], deadline, &spoken)
    }

    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo> {
        let spoken = dialects![
            system[v1alpha1] GetService: GetServiceRequest {
                name: name.to_string(),
            } => service;
        ];
        self.look("look at service", &[name], deadline, &spoken)
    }

    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            system[v1alpha1] StartService: StartServiceRequest {
                name: name.to_string(),
            } => |_| Ok(());
        ];
        self.change("start service", &[name], deadline, &spoken)
    }

    fn stop_service(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<()> {
        let spoken = dialects![
            system[v1alpha1] StopService: StopServiceRequest {
                name: name.to_string(),
                force: dependents == Dependents::Stop,
            } => |_| Ok(());
        ];
        self.change("stop service", &[name], deadline, &spoken)
    }
}

fn service(answer: v1alpha1::GetServiceResponse) -> Read<ServiceInfo> {
    let start_type = start_type(answer.start_type)?;
    let state = state(answer.status)?;
    Ok(ServiceInfo::new(answer.display_name, start_type, state))
}

fn start_type(number: i32) -> Read<StartType> {
    use v1alpha1::StartType as Wire;
    let known = Wire::try_from(number);
    let known = known.map_err(|_| malformed(format_args!("the start type {number}")))?;
    Ok(match known {
        Wire::Automatic => StartType::Automatic,
        Wire::Boot => StartType::Boot,
        Wire::Disabled => StartType::Disabled,
        Wire::Manual => StartType::Manual,
        Wire::System => StartType::System,
    })
}

/// The wire's "unknown" says nothing that a driver could act on.
fn state(number: i32) -> Read<ServiceState> {
    use v1alpha1::ServiceStatus as Wire;
    match Wire::try_from(number) {
        Ok(Wire::ContinuePending) => Ok(ServiceState::ContinuePending),
        Ok(Wire::PausePending) => Ok(ServiceState::PausePending),
        Ok(Wire::Paused) => Ok(ServiceState::Paused),
        Ok(Wire::Running) => Ok(ServiceState::Running),
        Ok(Wire::StartPending) => Ok(ServiceState::StartPending),
        Ok(Wire::StopPending) => Ok(ServiceState::StopPending),
        Ok(Wire::Stopped) => Ok(ServiceState::Stopped),
        Ok(Wire::Unknown) | Err(_) => Err(malformed(format_args!("the service state {number}"))),
    }
}
