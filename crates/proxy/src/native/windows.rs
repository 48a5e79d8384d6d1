use std::io;
use std::path::{self, Path};

use os::{Facility, Os, PathError, WinPath};
use os_windows::SERVICE_NAME;

/// This machine.
pub(super) fn node() -> Option<Os> {
    Some(os_windows::node(SERVICE_NAME))
}

/// Facilities that may be Windows's own beside a simulated node.
///
/// The disks are not among them: with a disk number from a simulated provider, another disk would be read and grown
/// here. Nor are the providers, for the reverse, nor the boot: its page files lie on the machine's own volumes.
const BESIDE_SIMULATION: &[Facility] = &[
    Facility::AfUnix,
    Facility::Clock,
    Facility::EventLog,
    Facility::Files,
    Facility::Firmware,
    Facility::Services,
    Facility::Volumes,
];

/// The simulated node with one facility taken from Windows itself, if that makes sense.
pub(super) fn take(simulated: Os, facility: Facility) -> Option<Os> {
    let sensible = BESIDE_SIMULATION.contains(&facility);
    sensible.then(|| simulated.with(facility, &os_windows::node(SERVICE_NAME)))
}

/// Pipes need no folder.
pub(super) fn socket_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// A file of this machine as a path on a volume of the node.
pub(super) fn on_node(path: &Path) -> io::Result<Option<WinPath>> {
    let absolute = path::absolute(path)?;
    let parsed = absolute.to_string_lossy().parse();
    let unknown = |error| io::Error::other(format!("{}: {error}", path.display()));
    parsed.map(Some).map_err(|error: PathError| unknown(error))
}

#[cfg(test)]
mod tests {
    use super::BESIDE_SIMULATION;
    use crate::flags;

    #[test]
    fn the_help_names_what_may_be_native_beside_a_simulated_node() {
        let names = BESIDE_SIMULATION.iter().map(|facility| facility.name());
        let names = names.collect::<Vec<_>>().join(", ");
        let flag = flags::all().find(|flag| flag.name == "native");
        let help = flag.expect("the flag is there").help;
        assert!(help.contains(&format!(": {names}.")), "{help}");
    }
}
