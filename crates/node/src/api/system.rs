use os::{BootId, Deadline, ServiceInfo};

use super::Result;
use super::operations::operations;
use super::sealed::Sealed;
use crate::{Dependents, Node, ServiceName};

operations! {
by deadline;

/// The computer and its services.
pub trait System {
    /// An id of this boot, the same for every process: disk numbers and mappings that a driver recorded under
    /// another id are from an earlier boot. Ids can only be compared for equality.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied) for a caller who is no administrator.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn boot_id(&self, deadline: Deadline) -> Result<BootId>
        = system.boot_id, "read", "the boot id";

    /// The machine's DNS host name in lower case, without its domain: kubelet's default name for its node.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if Windows does not report it.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn computer_name(&self, deadline: Deadline) -> Result<String>
        = system.computer_name, "read", "the computer's name";

    /// The serial number in the firmware, without blanks around it; it identifies virtual machines.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if the firmware has none.
    fn serial_number(&self, deadline: Deadline) -> Result<String>
        = firmware.serial_number, "read", "the serial number";

    /// The properties of a service.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied).
    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo>
        = services.service, "look at service", name;

    /// Starts a service and waits until it runs; a running one is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`NotReady`](super::Condition::NotReady) if it does not run in time.
    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()>
        = services.start, "start service", name;

    /// Stops a service and waits until it has stopped; a stopped one is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`InUse`](super::Condition::InUse); [`NotReady`](super::Condition::NotReady) if it does not stop in
    /// time.
    fn stop_service(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<()>
        = services.stop, "stop service", name;

    /// The UUID in the firmware as `Win32_ComputerSystemProduct` has it: in upper case, with hyphens. Linux and
    /// hypervisors may spell the first three groups of the same machine the other way round.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if the firmware has none.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn uuid(&self, deadline: Deadline) -> Result<String>
        = firmware.uuid, "read", "the UUID";
}
}
