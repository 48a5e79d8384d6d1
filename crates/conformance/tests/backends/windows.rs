//! Windows itself or Wine, and the way to WMI with COM objects in this process over the simulated node.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::{env, process};

use libtest_mimic::Trial;
use node::{Node, Options};
use os::{Facility, Os, Provider};
use os_windows::NativeProvider;
use os_windows_testkit::{InProcessWmi, OutParameters};
use wincsi_conformance::machine::NativeFolder;
use wincsi_conformance::{Backend, Fixture, real};

use super::simulator::Simulator;

#[path = "own.rs"]
mod own;
#[path = "wine.rs"]
mod wine;

/// Under Wine they take minutes, and would see the same as on Linux: the simulated node.
pub(crate) const MAKES_EXPERIMENTS: bool = false;

/// The facilities of Windows itself without a provider: Wine has none.
const NATIVE: &[Facility] = &[
    Facility::AfUnix,
    Facility::Boot,
    Facility::Clock,
    Facility::Disks,
    Facility::EventLog,
    Facility::Files,
    Facility::Firmware,
    Facility::Services,
    Facility::Volumes,
];

pub(crate) fn trials() -> Vec<Trial> {
    let windows = Backend {
        name: "windows",
        facilities: NATIVE,
        about: &[],
        fixture: native,
        deviations: &[],
    };
    let mut trials = match real::wine_version() {
        None => windows.trials(own::CASES),
        Some(_) => on_wine(windows).trials(own::CASES),
    };
    let com = Backend {
        name: "com",
        facilities: &Facility::ALL,
        about: &[
            Facility::Iscsi,
            Facility::Processes,
            Facility::Smb,
            Facility::Storage,
        ],
        fixture: in_process,
        deviations: &[],
    };
    trials.extend(com.trials(&[]));
    trials
}

fn on_wine(windows: Backend) -> Backend {
    wine::keep_services_open();
    Backend {
        name: "wine",
        deviations: wine::ANSWERS,
        ..windows
    }
}

/// A folder of its own in the temporary folder of the machine.
fn native() -> Result<Fixture, String> {
    static NODE: LazyLock<Arc<Node>> =
        LazyLock::new(|| Arc::new(Node::new(os_windows::node(SOURCE), Options::default())));
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("wincsi-suite-{}-{number}", process::id());
    let temporary = env::temp_dir();
    let temporary = temporary.to_string_lossy().parse();
    let temporary = temporary.map_err(|error: os::PathError| error.to_string())?;
    let folder = NativeFolder::below(&NODE, &temporary, &name);
    let folder = folder.map_err(|error| error.to_string())?;
    Ok(Fixture::new(os_windows::node(SOURCE), Box::new(folder)))
}

/// Of the events that a case reports.
const SOURCE: &str = "wincsi-test";

fn in_process() -> Result<Fixture, String> {
    let made = Simulator::for_seam().map_err(|error| error.to_string())?;
    let os = made.system();
    let wmi = InProcessWmi::over(os.clone(), OutParameters::Result);
    let native: Arc<dyn Provider> =
        Arc::new(NativeProvider::over(Arc::clone(&os.clock), Arc::new(wmi)));
    let os = Os {
        iscsi: Arc::clone(&native),
        smb: Arc::clone(&native),
        storage: native,
        ..os
    };
    Ok(Fixture::new(os, Box::new(made)))
}

/// How many handles this process has open; Wine 8 counts none.
pub(crate) fn handles() -> os::Result<u64> {
    Ok(u64::from(os_windows::process_usage()?.handles))
}

/// Wine 8 has no Unix sockets, and these are the machine's and not simulated.
pub(crate) fn has(case: &str) -> bool {
    !case.starts_with("sockets::")
}

pub(crate) fn is_closed(_folder: &Path) -> os::Result<bool> {
    unreachable!("no case asks")
}
