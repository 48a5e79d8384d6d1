use std::process::ExitCode;
use std::sync::Arc;

use os::Facility;
use os_suite::{Fixture, Implementation};
use wincsi_os_windows::{
    NativeAfUnix, NativeBoot, NativeClock, NativeDisks, NativeEventLog, NativeFiles,
    NativeFirmware, NativeServices, NativeVolumes,
};

#[path = "native_folder.rs"]
mod native_folder;
#[path = "own.rs"]
mod own;
#[path = "wine.rs"]
mod wine;

/// Runs the suite: under Wine with the table of its answers; on Windows every case as it is.
pub(crate) fn main() -> ExitCode {
    let windows = Implementation {
        facilities: &[
            Facility::AfUnix,
            Facility::Boot,
            Facility::Clock,
            Facility::Disks,
            Facility::EventLog,
            Facility::Files,
            Facility::Firmware,
            Facility::Services,
            Facility::Volumes,
        ],
        about: &[],
        fixture,
        deviations: &[],
    };
    if !wine::is_here() {
        return os_suite::run_with(windows, own::CASES);
    }
    let wine = Implementation {
        deviations: wine::ANSWERS,
        ..windows
    };
    let _services = wine::keep_services_open().expect("the manager runs");
    os_suite::run_with(wine, own::CASES)
}

fn fixture() -> Result<Fixture, String> {
    let fixture = native_folder::NativeFolderFixture::new().map_err(|error| error.to_string())?;
    Ok(Fixture::new(fixture)
        .with_afunix(Arc::new(NativeAfUnix::new()))
        .with_boot(Arc::new(NativeBoot::new()))
        .with_clock(Arc::new(NativeClock::new()))
        .with_disks(Arc::new(NativeDisks::new()))
        .with_event_log(Arc::new(NativeEventLog::of("wincsi-test")))
        .with_files(Arc::new(NativeFiles::new()))
        .with_firmware(Arc::new(NativeFirmware::new()))
        .with_services(Arc::new(NativeServices::new()))
        .with_volumes(Arc::new(NativeVolumes::new())))
}
