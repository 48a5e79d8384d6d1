use std::sync::Arc;
use std::time::Duration;

use os::AfUnix;
use os::Boot;
use os::BootId;
use os::Clock;
use os::Deadline;
use os::Event;
use os::EventLog;
use os::Firmware;
use os::Moment;
use os::Paging;
use os::Result;
use os::ServiceInfo;
use os::Services;

use crate::Kind;
use crate::Probe;

/// A facility of the system as a whole whose operations are told.
pub(crate) struct Metered<T: ?Sized>(pub(crate) Arc<T>, pub(crate) Probe);

impl AfUnix for Metered<dyn AfUnix> {
    fn is_available(&self) -> Result<bool> {
        self.1
            .handle("QueryServiceStatusEx", || self.0.is_available())
    }
}

impl Boot for Metered<dyn Boot> {
    fn boot_id(&self) -> Result<BootId> {
        self.1.run(Kind::Call, "boot", "id", || self.0.boot_id())
    }

    fn paging(&self) -> Result<Paging> {
        self.1.run(Kind::Call, "boot", "paging", || self.0.paging())
    }
}

impl Clock for Metered<dyn Clock> {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn wall(&self) -> Duration {
        self.0.wall()
    }

    fn sleep(&self, duration: Duration) {
        let run = || {
            self.0.sleep(duration);
            Ok(())
        };
        // A wait has no error.
        let _ = self.1.run(Kind::Wait, "Sleep", "", run);
    }
}

impl EventLog for Metered<dyn EventLog> {
    fn report(&self, event: &Event) -> Result<()> {
        self.1.handle("ReportEventW", || self.0.report(event))
    }
}

impl Firmware for Metered<dyn Firmware> {
    fn smbios(&self) -> Result<Vec<u8>> {
        self.1.call("GetSystemFirmwareTable", || self.0.smbios())
    }
}

impl Services for Metered<dyn Services> {
    fn query(&self, name: &str) -> Result<ServiceInfo> {
        self.1.handle("QueryServiceStatusEx", || self.0.query(name))
    }

    fn running_dependents(&self, name: &str) -> Result<Vec<String>> {
        self.1
            .handle("EnumDependentServicesW", || self.0.running_dependents(name))
    }

    fn start(&self, name: &str, deadline: Deadline) -> Result<()> {
        self.1
            .handle("StartServiceW", || self.0.start(name, deadline))
    }

    fn stop(&self, name: &str, deadline: Deadline) -> Result<()> {
        self.1
            .handle("ControlService", || self.0.stop(name, deadline))
    }
}
