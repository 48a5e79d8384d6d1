use std::io;
use std::path::Path;
use std::sync::Arc;

use os::Facility;
use os::Os;

/// The node with one facility taken from Windows itself, where we have it.
///
/// The disks are not among them, though we have them: by a simulated provider's word about a disk's
/// number another disk would be read here, and grown.
pub(super) fn take(mut node: Os, facility: Facility) -> Option<Os> {
    match facility {
        Facility::Clock => node.clock = Arc::new(os_windows::NativeClock::new()),
        Facility::EventLog => {
            node.event_log = Arc::new(os_windows::NativeEventLog::of(os_windows::SERVICE_NAME));
        }
        Facility::Files => node.files = Arc::new(os_windows::NativeFiles::new()),
        Facility::Firmware => node.firmware = Arc::new(os_windows::NativeFirmware::new()),
        Facility::Services => node.services = Arc::new(os_windows::NativeServices::new()),
        Facility::Volumes => node.volumes = Arc::new(os_windows::NativeVolumes::new()),
        _ => return None,
    }
    Some(node)
}

/// Pipes need no folder.
pub(super) fn socket_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
