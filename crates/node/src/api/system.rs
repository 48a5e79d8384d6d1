use os::{BootId, Deadline, ServiceInfo};

use super::Result;
#[allow(unused_imports, reason = "the pages link to them")]
use super::links::*;
use super::operations::operations;
use crate::{Dependents, ServiceName};

operations! {
by deadline;

/// The computer and its services.
pub trait System {
    /// An id of this boot, the same for every process, also after a hibernation: disk numbers and mappings that a
    /// driver recorded under another id are from an earlier boot. Ids can only be compared for equality. On Windows it
    /// is the time at which one of our processes first called this after the boot, kept in a volatile registry key.
    ///
    /// # Errors
    /// [`AccessDenied`] for a caller who is no administrator. [`Cause::Unsupported`] without
    /// [`Feature::SystemIdentity`].
    fn boot_id(&self, deadline: Deadline) -> Result<BootId>
        = system.boot_id, "read", "the boot id";

    /// The command lines of the processes of a program, by its file name (`kubelet.exe`): none if it does not run, `None`
    /// of one that the caller may not read.
    ///
    /// # Errors
    /// [`AccessDenied`]. [`Cause::Unsupported`] without [`Feature::SystemIdentity`].
    fn command_lines(&self, program: &str, deadline: Deadline) -> Result<Vec<Option<String>>>
        = system.command_lines, "read the command lines of", program;

    /// The machine's DNS host name in lower case, without its domain: the name that kubelet gives its node unless it is
    /// told another (`k8s.io/component-helpers`, `node/util.GetHostname`, over Go's `os.Hostname`).
    ///
    /// # Errors
    /// [`Other`] if Windows does not report it. [`Cause::Unsupported`] without [`Feature::SystemIdentity`].
    fn computer_name(&self, deadline: Deadline) -> Result<String>
        = system.computer_name, "read", "the computer's name";

    /// The serial number in the firmware, without blanks around it, which csi-proxy keeps. A virtual machine's may be
    /// its identity (`VMware-56 4d ...`).
    ///
    /// # Errors
    /// [`Other`] if the firmware has none.
    fn serial_number(&self, deadline: Deadline) -> Result<String>
        = firmware.serial_number, "read", "the serial number";

    /// The properties of a service.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`].
    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo>
        = services.service, "look at service", name;

    /// Starts a service and waits until it runs, 30 seconds at most. One that runs is left as it is; one that is on its
    /// way up or down is waited for first.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`]; [`NotReady`] if it does not run in time.
    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()>
        = services.start, "start service", name;

    /// Stops a service and waits until it has stopped, 30 seconds at most for it and for each that depends on it. A
    /// stopped one is left as it is; one that takes no orders just now is asked again meanwhile.
    ///
    /// # Errors
    /// [`NotFound`], [`AccessDenied`], [`InUse`]; [`NotReady`] if it does not stop in time.
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
    /// [`Other`] if the firmware has none. [`Cause::Unsupported`] without [`Feature::SystemIdentity`].
    fn uuid(&self, deadline: Deadline) -> Result<String>
        = firmware.uuid, "read", "the UUID";
}
}
