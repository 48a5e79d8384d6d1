use std::sync::Arc;

use os::{Clock, Os, Provider};

use crate::{
    NativeAfUnix, NativeBoot, NativeClock, NativeDisks, NativeEventLog, NativeFiles,
    NativeFirmware, NativeProvider, NativeServices, NativeVolumes,
};

/// This machine, with every facility: operations change its own disks, shares and services. Events are written under
/// the name `source`.
///
/// Nothing is opened, connected or started before it is needed. The four providers are one, with one
/// pool of threads for each namespace.
#[must_use]
pub fn node(source: &str) -> Os {
    let clock: Arc<dyn Clock> = Arc::new(NativeClock::new());
    let provider: Arc<dyn Provider> = Arc::new(NativeProvider::new(Arc::clone(&clock)));
    Os {
        afunix: Arc::new(NativeAfUnix::new()),
        boot: Arc::new(NativeBoot::new()),
        clock,
        disks: Arc::new(NativeDisks::new()),
        event_log: Arc::new(NativeEventLog::of(source)),
        files: Arc::new(NativeFiles::new()),
        firmware: Arc::new(NativeFirmware::new()),
        iscsi: Arc::clone(&provider),
        processes: Arc::clone(&provider),
        services: Arc::new(NativeServices::new()),
        smb: Arc::clone(&provider),
        storage: provider,
        volumes: Arc::new(NativeVolumes::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, node};

    #[test]
    fn one_provider_asks_wmi_for_all() {
        let os = node("wincsi-test");
        assert!(Arc::ptr_eq(&os.storage, &os.smb));
        assert!(Arc::ptr_eq(&os.storage, &os.iscsi));
        assert!(Arc::ptr_eq(&os.storage, &os.processes));
    }
}
