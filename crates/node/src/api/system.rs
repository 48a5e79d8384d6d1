use os::{BootId, Deadline, ServiceInfo};

use super::Result;
use super::sealed::Sealed;
use crate::{Dependents, ServiceName};

/// The computer and its services.
pub trait System: Sealed + Send + Sync {
    /// An id of this boot, the same for every process: disk numbers and mappings that a driver recorded under
    /// another id are from an earlier boot. Ids can only be compared for equality.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied) for a caller who is no administrator.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn boot_id(&self, deadline: Deadline) -> Result<BootId>;

    /// The machine's DNS host name in lower case, without its domain: kubelet's default name for its node.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if Windows does not report it.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn computer_name(&self, deadline: Deadline) -> Result<String>;

    /// The serial number in the firmware, without blanks around it; it identifies virtual machines.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if the firmware has none.
    fn serial_number(&self, deadline: Deadline) -> Result<String>;

    /// The properties of a service.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied).
    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo>;

    /// Starts a service and waits until it runs; a running one is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`NotReady`](super::Condition::NotReady) if it does not run in time.
    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()>;

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
    ) -> Result<()>;

    /// The UUID in the firmware as `Win32_ComputerSystemProduct` has it: in upper case, with hyphens. Linux and
    /// hypervisors may spell the first three groups of the same machine the other way round.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if the firmware has none.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn uuid(&self, deadline: Deadline) -> Result<String>;
}
