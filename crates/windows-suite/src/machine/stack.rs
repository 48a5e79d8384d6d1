//! The native node: the one place that says what it is made of.

use std::sync::Arc;

use os::AfUnix;
use os::Error;
use os::Os;
use os::Provider;
use os::ServiceState;
use os::Services;
use os_windows::LocalMachine;
use os_windows::NativeBoot;
use os_windows::NativeClock;
use os_windows::NativeDisks;
use os_windows::NativeEventLog;
use os_windows::NativeFiles;
use os_windows::NativeFirmware;
use os_windows::NativeProvider;
use os_windows::NativeServices;
use os_windows::NativeVolumes;

use crate::names;

/// Every facility of this machine.
pub(super) fn native() -> Os {
    let clock = Arc::new(NativeClock::new());
    let provider: Arc<dyn Provider> = Arc::new(NativeProvider::over(
        Arc::clone(&clock) as Arc<dyn os::Clock>,
        Arc::new(LocalMachine),
    ));
    Os {
        afunix: Arc::new(Driver(NativeServices::new())),
        boot: Arc::new(NativeBoot::new()),
        clock,
        disks: Arc::new(NativeDisks::new()),
        event_log: Arc::new(NativeEventLog::of(names::EVENT_SOURCE)),
        files: Arc::new(NativeFiles::new()),
        firmware: Arc::new(NativeFirmware::new()),
        iscsi: Arc::clone(&provider),
        services: Arc::new(NativeServices::new()),
        smb: Arc::clone(&provider),
        storage: provider,
        volumes: Arc::new(NativeVolumes::new()),
    }
}

/// The driver `afunix`, which the service control manager knows like any service.
struct Driver(NativeServices);

impl AfUnix for Driver {
    fn is_available(&self) -> os::Result<bool> {
        match self.0.query("afunix") {
            Ok(found) => Ok(found.state == ServiceState::Running),
            Err(error) if Error::is_not_found(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
