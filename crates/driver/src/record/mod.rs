//! Records: what this driver did of each volume, kept across restarts of the driver and of the machine.
//!
//! A record is written before the act that it tells of, and goes after everything else of the volume has gone. So a
//! driver that died knows what may be left, and an unstage without any context finds its disk.

mod store;
mod text;

use std::fmt;

use wincsi::WinPath;
use wincsi::disks::DiskQuery;
use wincsi::volumes::VolumeId;

pub use self::store::{Slot, Store, StoreError};
pub use self::text::TextError;

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
    /// What its disk is told by.
    pub disk: DiskQuery,
    /// What was asked for.
    pub wanted: Wanted,
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

/// What a volume is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The filesystem.
    pub file_system: FileSystem,
    /// Who may write.
    pub access: Access,
    /// How many targets there may be.
    pub targets: Targets,
}

/// A filesystem that Windows formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// NTFS.
    Ntfs,
    /// ReFS.
    Refs,
}

/// Who may write to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Pods read and write.
    ReadWrite,
    /// Pods read; the disk comes online read-only and is never formatted, grown or labelled.
    ReadOnly,
}

/// How many targets a volume may be published at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// One (`SINGLE_NODE_SINGLE_WRITER`).
    One,
    /// Any number.
    Many,
}
