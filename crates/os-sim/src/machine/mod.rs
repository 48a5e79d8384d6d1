//! The node's state behind one lock: the kernel's view and the providers' caches.

mod clones;
mod disks;
mod mounts;
mod spanned;
mod state;
mod volumes;

pub(crate) use state::{KernelDisk, Mount, State, Tracked, letter, millis, moment};
pub(crate) use volumes::{Home, left_of, occupied};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use os::{Moment, VolumeId};
use uuid::Uuid;

use self::spanned::Spanned;
use crate::hardware::{Disk, HardwareControl};
use crate::iscsi::{IscsiControl, Settled};
use crate::ondisk::Table;
use crate::smb::SmbControl;
use crate::spec::NodeSpec;

/// Everything that changes, of one node in one process.
#[derive(Debug)]
pub(crate) struct Machine {
    node: Arc<str>,
    pub(crate) spec: NodeSpec,
    pub(crate) state: Tracked<State>,
    /// The present moment, as of the operation that has the lock.
    pub(crate) now: Moment,
    pub(crate) hardware: HardwareControl,
    /// Where volumes' files lie; `None` for a node in memory.
    pub(crate) folder: Option<PathBuf>,
    /// The SMB servers around the node; `None` for a node in memory.
    pub(crate) servers: Option<SmbControl>,
    /// The iSCSI servers around it, likewise.
    pub(crate) arrays: Option<IscsiControl>,
    pub(crate) iscsi_settled: Option<Settled>,
    /// The disks that are plugged in, by name.
    pub(crate) present: BTreeMap<String, Present>,
    /// Where to find disks by number and volumes by id.
    numbers: HashMap<u32, String>,
    homes: HashMap<Uuid, String>,
    /// The volumes of dynamic disks that are whole.
    spanned: BTreeMap<Uuid, Arc<Spanned>>,
    /// The generation of the hardware that was looked at last.
    seen: Option<u64>,
    /// Volumes that somebody has locked.
    pub(crate) locked: BTreeSet<VolumeId>,
    /// How often each volume is held open by others than the file tree's pins.
    pub(crate) holds: BTreeMap<VolumeId, usize>,
}

/// A disk that is plugged in.
#[derive(Debug)]
pub(crate) struct Present {
    pub(crate) disk: Disk,
    /// The partition table as the kernel last read it.
    pub(crate) table: Table,
    /// Of which content and length it was read, where the content's number is known.
    read: Option<(u64, u64)>,
    /// The device interface path.
    pub(crate) path: String,
    text: String,
}

impl Machine {
    /// The node's name.
    pub(crate) fn node(&self) -> &Arc<str> {
        &self.node
    }

    pub(crate) fn new(
        spec: NodeSpec,
        state: State,
        hardware: HardwareControl,
        folder: Option<PathBuf>,
    ) -> Self {
        Self {
            node: Arc::from(spec.name.as_str()),
            spec,
            state: Tracked::new(state),
            now: Moment(Duration::ZERO),
            hardware,
            servers: folder.as_ref().map(SmbControl::at),
            arrays: folder.as_ref().map(IscsiControl::at),
            iscsi_settled: None,
            folder,
            present: BTreeMap::new(),
            numbers: HashMap::new(),
            homes: HashMap::new(),
            spanned: BTreeMap::new(),
            seen: None,
            locked: BTreeSet::new(),
            holds: BTreeMap::new(),
        }
    }
}
