use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use os::{Os, VolumeId, WinPath};

use crate::clock::{ClockMode, NodeClock};
use crate::disks::Disks;
use crate::files::FileTree;
use crate::files_gate::{self, Hold};
use crate::gate::{Faults, Gate, Op};
use crate::hardware::{HardwareControl, HardwareError};
use crate::inventory::Inventory;
use crate::iscsi::Iscsi;
use crate::machine::{Machine, State, moment};
use crate::processes::Processes;
use crate::provider::Provider;
use crate::roots::NodeRoots;
use crate::services::Services;
use crate::shared_node::SharedNode;
use crate::smb::Smb;
use crate::spec::NodeSpec;
use crate::storage::Storage;
use crate::system::System;
use crate::volumes::Volumes;
use crate::{folder, system_disk};

/// A simulated Windows node, as one process sees it. Cheap to clone; clones are the same process.
#[derive(Clone)]
pub struct SimNode {
    shared: Arc<SharedNode>,
    tree: FileTree,
    hardware: HardwareControl,
    event_log: Option<PathBuf>,
}

/// A node cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The folder holds a node already.
    #[error("{0} holds a node already")]
    Exists(PathBuf),
    /// A file of the folder fails.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system disk cannot be built.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
    /// Another process has the node open.
    #[error("{0}: another process has this node open")]
    InUse(PathBuf),
    /// A file does not read.
    #[error("{path}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl SimNode {
    /// Makes a node in a folder that holds none yet, and starts it: a system disk with drive C, all
    /// services that start by themselves.
    ///
    /// # Errors
    /// The folder holds a node; it cannot be written.
    pub fn create(folder: &Path, spec: &NodeSpec, clock: ClockMode) -> Result<Self, CreateError> {
        let files = NodeFiles::of(folder);
        if files.spec.exists() {
            return Err(CreateError::Exists(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(|error| CreateError::file(folder, error))?;
        let hardware = HardwareControl::at(folder);
        let text =
            toml::to_string(spec).map_err(|error| CreateError::malformed(&files.spec, error))?;
        NodeSpec::parse(&files.spec, &text)?;
        system_disk::discard(&hardware)?;
        system_disk::build(&hardware, spec)?;
        // From here on it is a node: whatever else it needs is made when it is opened.
        folder::replace(&files.spec, text.as_bytes())
            .map_err(|error| CreateError::file(&files.spec, error))?;
        Self::open(folder, clock)
    }

    /// Whether the folder holds a node.
    #[must_use]
    pub fn exists(folder: &Path) -> bool {
        NodeFiles::of(folder).spec.exists()
    }

    /// Opens the node that lives in a folder: a process starts on a node that is running.
    ///
    /// # Errors
    /// The folder holds no node, or one that does not read; another process has it open.
    pub fn open(folder: &Path, clock: ClockMode) -> Result<Self, CreateError> {
        let files = NodeFiles::of(folder);
        let text = fs::read_to_string(&files.spec)
            .map_err(|error| CreateError::file(&files.spec, error))?;
        let spec = NodeSpec::parse(&files.spec, &text)?;
        let text =
            folder::text(&files.state).map_err(|error| CreateError::file(&files.state, error))?;
        let state = text.map(|text| serde_json::from_str(&text)).transpose();
        let state: Option<State> =
            state.map_err(|error| CreateError::malformed(&files.state, error))?;
        match state {
            Some(state) => Self::assembled(&files, spec, state, clock),
            None => Self::started(&files, spec, clock),
        }
    }

    /// A node that lives in memory and has no files: every path of [`Os::files`] is unavailable.
    ///
    /// # Errors
    /// None that anybody could mend.
    pub fn in_memory(
        spec: &NodeSpec,
        inventory: Inventory,
        clock: ClockMode,
    ) -> Result<Self, CreateError> {
        Self::unsaved(spec, inventory, clock, None)
    }

    /// A node that lives in memory, except for its files, which are in a folder of the host. Its state
    /// is not saved, so no process can open it again, and no operation takes time for saving.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn in_memory_with_files(
        spec: &NodeSpec,
        inventory: Inventory,
        clock: ClockMode,
        folder: &Path,
    ) -> Result<Self, CreateError> {
        let node = Self::unsaved(spec, inventory, clock, Some(folder.to_owned()))?;
        node.furnish()
            .map_err(|error| CreateError::malformed(folder, error))?;
        Ok(node)
    }

    fn unsaved(
        spec: &NodeSpec,
        inventory: Inventory,
        clock: ClockMode,
        files: Option<PathBuf>,
    ) -> Result<Self, CreateError> {
        let hardware = HardwareControl::in_memory();
        system_disk::build(&hardware, spec)?;
        inventory.plug_into(&hardware)?;
        let state = State::first(system_disk::drives(&hardware, spec));
        let clock = Arc::new(NodeClock::new(clock, Duration::ZERO));
        let hands = Box::new(hardware.clone());
        let gate = Gate::new(Arc::clone(&clock), spec.latency.faults(), hands);
        let machine = Machine::new(spec.clone(), state, hardware.clone(), files);
        let shared = Arc::new(SharedNode::new(clock, gate, machine, None));
        let node = Self::of(shared, hardware, None);
        node.reboot()
            .map_err(|error| CreateError::malformed(Path::new("memory"), error))?;
        Ok(node)
    }

    /// The node, as everything above the seam sees it.
    #[must_use]
    pub fn os(&self) -> Os {
        let shared = || Arc::clone(&self.shared);
        let tree = || self.tree.clone();
        let system = Arc::new(System {
            shared: shared(),
            event_log: self.event_log.clone(),
        });
        Os {
            afunix: system.clone(),
            boot: system.clone(),
            clock: system.clone(),
            disks: Arc::new(Disks(shared())),
            event_log: system.clone(),
            files: files_gate::gated(shared(), tree()),
            firmware: system,
            iscsi: Arc::new(Provider(Iscsi { shared: shared() })),
            processes: Arc::new(Provider(Processes(shared()))),
            services: Arc::new(Services(shared())),
            smb: Arc::new(Provider(Smb { shared: shared() })),
            storage: Arc::new(Provider(Storage {
                shared: shared(),
                tree: tree(),
            })),
            volumes: Arc::new(Volumes {
                shared: shared(),
                tree: tree(),
            }),
        }
    }

    /// The hand that plugs things in and pulls them out.
    #[must_use]
    pub fn hardware(&self) -> &HardwareControl {
        &self.hardware
    }

    /// The faults to inject.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        self.shared.gate.faults()
    }

    /// The files behind the gate's back: for tests and demonstrations to put things there.
    #[must_use]
    pub fn files(&self) -> &FileTree {
        &self.tree
    }

    /// The operations since the last call; a node in real time keeps its latest 1,000 alone.
    pub fn take_trace(&self) -> Vec<Op> {
        self.shared.gate.take_trace()
    }

    /// Kills the process: every later operation through this handle fails, and the folder can be
    /// opened again.
    pub fn kill(&self) {
        self.shared.gate.kill();
    }

    pub(crate) fn clock_mode(&self) -> ClockMode {
        match self.shared.clock.is_real() {
            true => ClockMode::Real,
            false => ClockMode::Virtual,
        }
    }

    /// Whether the process has been killed, by [`SimNode::kill`] or by a fault.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        !self.shared.gate.is_alive()
    }

    /// Restarts the machine: disk numbers, caches and what only memory held are new. The handle stays
    /// good, as if the process had been started again.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn reboot(&self) -> os::Result<()> {
        self.shared
            .with(Machine::power_cycle)
            .map_err(|cause| os::Error::new("reboot", "node", cause))
    }

    /// Holds a volume open as a workload does, until the answer is dropped.
    pub fn hold(&self, volume: VolumeId) -> VolumeHold {
        let held = self.shared.with(|machine| {
            machine.hold(volume);
            Ok(())
        });
        VolumeHold(held.is_ok().then(|| Hold {
            volume,
            shared: Arc::clone(&self.shared),
        }))
    }

    fn assembled(
        files: &NodeFiles,
        spec: NodeSpec,
        state: State,
        clock: ClockMode,
    ) -> Result<Self, CreateError> {
        let hardware = HardwareControl::at(&files.folder);
        let clock = Arc::new(NodeClock::new(clock, moment(state.elapsed_ms).0));
        let gate = Gate::new(
            Arc::clone(&clock),
            spec.latency.faults(),
            Box::new(hardware.clone()),
        )
        .living(files.lock()?)
        .scripted(files.faults.clone());
        let folder = Some(files.folder.clone());
        let machine = Machine::new(spec, state, hardware.clone(), folder);
        let state_file = Some(files.state.clone());
        let shared = Arc::new(SharedNode::new(clock, gate, machine, state_file));
        Ok(Self::of(shared, hardware, Some(files.event_log.clone())))
    }

    fn of(shared: Arc<SharedNode>, hardware: HardwareControl, event_log: Option<PathBuf>) -> Self {
        let roots = Arc::new(NodeRoots(Arc::clone(&shared)));
        let tree = FileTree::new(roots.clone()).with_mount_watcher(roots);
        Self {
            shared,
            tree,
            hardware,
            event_log,
        }
    }

    /// The first start.
    fn started(files: &NodeFiles, spec: NodeSpec, clock: ClockMode) -> Result<Self, CreateError> {
        let drives = system_disk::drives(&HardwareControl::at(&files.folder), &spec);
        let node = Self::assembled(files, spec, State::first(drives), clock)?;
        node.reboot()
            .and_then(|()| node.furnish())
            .map_err(|error| CreateError::malformed(&files.folder, error))?;
        Ok(node)
    }

    /// The directories that drive C of every Windows has.
    fn furnish(&self) -> os::Result<()> {
        for path in [
            r"C:\Windows",
            r"C:\Windows\System32",
            r"C:\Windows\Temp",
            r"C:\ProgramData",
            r"C:\Program Files",
        ] {
            let path: Result<WinPath, _> = path.parse();
            if let Ok(path) = path
                && os::Files::entry(&self.tree, &path).is_err()
            {
                os::Files::create_directory(&self.tree, &path)?;
            }
        }
        Ok(())
    }
}

/// A volume that somebody holds open.
#[must_use = "the volume is held for as long as this lives"]
pub struct VolumeHold(#[expect(dead_code, reason = "it lets go when it is dropped")] Option<Hold>);

/// The files of a node's folder.
struct NodeFiles {
    event_log: PathBuf,
    faults: PathBuf,
    folder: PathBuf,
    lock: PathBuf,
    spec: PathBuf,
    state: PathBuf,
}

impl NodeFiles {
    fn of(folder: &Path) -> Self {
        Self {
            event_log: folder.join("events.log"),
            faults: folder.join("faults.toml"),
            folder: folder.to_owned(),
            lock: folder.join("node.lock"),
            spec: folder.join("node.toml"),
            state: folder.join("state.json"),
        }
    }

    /// A lock that the host gives back when the process dies, however it dies.
    fn lock(&self) -> Result<File, CreateError> {
        let failed = |error| CreateError::file(&self.lock, error);
        let file = File::create(&self.lock).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => Err(CreateError::InUse(self.folder.clone())),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl CreateError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn malformed(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who pulls a disk out takes its image away too, maybe while the node looks at its disks.
    #[test]
    fn a_disk_pulled_out_meanwhile_fails_no_rescan() {
        let folder = tempfile::tempdir().unwrap();
        let spec = NodeSpec::default();
        let node = SimNode::create(folder.path(), &spec, ClockMode::Virtual).unwrap();
        let rescanned = node.shared.with(|machine| {
            fs::remove_dir_all(folder.path().join("disks")).unwrap();
            machine.rescan()
        });
        assert_eq!(rescanned, Ok(()));
    }
}
