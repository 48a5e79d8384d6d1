use node::Dependents;
use os::ServiceState;
use wire::system::v1alpha1::*;

use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    registry.on::<rpc::GetBiosSerialNumber>(|proxy, _, deadline| {
        let serial_number = proxy.bios_serial_number(deadline)?;
        Ok(GetBiosSerialNumberResponse { serial_number })
    });
    registry.on::<rpc::GetService>(|proxy, request, deadline| {
        let service = proxy.service(&request.name, deadline)?;
        Ok(GetServiceResponse {
            display_name: service.display_name,
            start_type: start_type(service.start_type).into(),
            status: status(service.state).into(),
        })
    });
    registry.on::<rpc::StartService>(|proxy, request, deadline| {
        proxy.start_service(&request.name, deadline)?;
        Ok(StartServiceResponse {})
    });
    registry.on::<rpc::StopService>(|proxy, request, deadline| {
        let dependents = match request.force {
            true => Dependents::Stop,
            false => Dependents::Refuse,
        };
        proxy.stop_service(&request.name, dependents, deadline)?;
        Ok(StopServiceResponse {})
    });
}

/// A new type in Windows is an error of the seam and gets no number, so nothing becomes `BOOT` by
/// accident.
fn start_type(ours: os::StartType) -> StartType {
    match ours {
        os::StartType::Automatic => StartType::Automatic,
        os::StartType::Boot => StartType::Boot,
        os::StartType::Disabled => StartType::Disabled,
        os::StartType::Manual => StartType::Manual,
        os::StartType::System => StartType::System,
    }
}

fn status(state: ServiceState) -> ServiceStatus {
    match state {
        ServiceState::ContinuePending => ServiceStatus::ContinuePending,
        ServiceState::PausePending => ServiceStatus::PausePending,
        ServiceState::Paused => ServiceStatus::Paused,
        ServiceState::Running => ServiceStatus::Running,
        ServiceState::StartPending => ServiceStatus::StartPending,
        ServiceState::StopPending => ServiceStatus::StopPending,
        ServiceState::Stopped => ServiceStatus::Stopped,
    }
}
