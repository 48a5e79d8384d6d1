//! Records: what this driver did of each volume, kept across restarts of the driver and of the machine.
//!
//! A record is written before the act that it tells of, and goes after everything else of the volume has gone. So a
//! driver that died knows what may be left, and an unstage without any context finds its disk.

mod lock;
mod store;
mod text;
mod wanted;

use std::fmt;

use wincsi::WinPath;
use wincsi::disks::DiskQuery;
use wincsi::volumes::VolumeId;

pub use self::store::{Slot, Store, StoreError};
pub use self::text::TextError;
pub use self::wanted::{Access, Choice, FileSystem, Format, FormatError, Targets, Wanted};

use uuid::Uuid;

/// A volume's id in CSI, as the controller or the author of a PV chose it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeHandle(String);

/// The namespace of the names of record files: a random UUID, which stays.
const RECORDS: Uuid = Uuid::from_u128(0x5b0e_8c1e_3f0a_4c58_9a51_2d6c_b7e4_91f3);

impl VolumeHandle {
    /// The handle; `None` of an empty text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The handle as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the volume's record: handles have characters that file names have not, and differ in case.
    fn file_name(&self) -> String {
        format!("{}.json", Uuid::new_v5(&RECORDS, self.0.as_bytes()))
    }
}

impl fmt::Display for VolumeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// What this driver did of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The volume.
    pub volume: VolumeHandle,
    /// How far it is.
    pub state: State,
    /// Where kubelet wants it staged.
    pub staging: WinPath,
    /// The properties that identify its disk.
    pub disk: DiskQuery,
    /// What was requested.
    pub wanted: Wanted,
    /// Whether the disk was offline until this driver brought it online, or was about to.
    pub brought_online: bool,
    /// The volume of Windows that was mounted at the staging path.
    pub mounted: Option<VolumeId>,
    /// The boot in which it was staged last, where the node reports one.
    pub boot: Option<String>,
    /// Where it is published, or was about to be.
    pub published: Vec<WinPath>,
}

/// How far a volume is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A stage began and did not end.
    Staging,
    /// It is staged.
    Staged,
    /// An unstage began and did not end.
    Unstaging,
}

impl Record {
    /// Whether the volume belongs at a path: it is staged or published there.
    #[must_use]
    pub fn is_at(&self, path: &WinPath) -> bool {
        self.staging == *path || self.published.contains(path)
    }
}
