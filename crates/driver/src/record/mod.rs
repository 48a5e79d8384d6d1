//! Records: what this driver did of each volume, kept across restarts of the driver and of the machine.
//!
//! A record is written before the act that it tells of, and goes after everything else of the volume has gone. So a
//! driver that died knows what may be left, and an unstage without any context finds its disk.

mod lock;
mod share;
mod store;
mod text;
mod wanted;

use std::fmt;

use wincsi::WinPath;
use wincsi::disks::DiskQuery;
use wincsi::volumes::VolumeId;

pub use self::share::{Lifetime, SecretHash, Share, ShareOptions};
pub use self::store::{Slot, Store, StoreError};
pub use self::text::TextError;
pub use self::wanted::{Access, Choice, FileSystem, Format, FormatError, Targets, Wanted};

use uuid::Uuid;

/// A volume's id in CSI, as the controller or the author of a PV chose it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeHandle(String);

/// The namespace of the names of record files: a random UUID, which stays.
const RECORDS: Uuid = Uuid::from_u128(0x5b0e_8c1e_3f0a_4c58_9a51_2d6c_b7e4_91f3);

/// Why a text is no handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is longer than any that a controller makes.
    #[error("it has {0} bytes, and may have {LONGEST} at most", LONGEST = VolumeHandle::LONGEST)]
    TooLong(usize),
}

impl VolumeHandle {
    /// The most bytes of a handle. CSI's limit of 128 bytes (spec.md, "Size Limits") is less than what drivers use: the
    /// resource id of an Azure disk has up to 272 characters, as its resource group has 90 and its name 80
    /// (<https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules>).
    pub const LONGEST: usize = 1024;

    /// The handle.
    ///
    /// # Errors
    /// The text is empty or too long.
    pub fn parse(text: &str) -> Result<Self, HandleError> {
        match text.len() {
            0 => Err(HandleError::Empty),
            length if length > Self::LONGEST => Err(HandleError::TooLong(length)),
            _ => Ok(Self(text.to_owned())),
        }
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

/// What this driver did of a volume, of one kind or of any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<W = What> {
    /// The volume.
    pub volume: VolumeHandle,
    /// How far it is.
    pub state: State,
    /// Where kubelet wants it staged.
    pub staging: WinPath,
    /// The boot in which it was staged last, where the node reports one.
    pub boot: Option<String>,
    /// Where it is published, or was about to be.
    pub published: Vec<WinPath>,
    /// What it is on the node.
    pub what: W,
}

/// What a volume is on the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A disk.
    Disk(Disk),
    /// A share.
    Share(Share),
}

/// A record, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByKind {
    /// Of a disk.
    Disk(Record<Disk>),
    /// Of a share.
    Share(Record<Share>),
}

/// A volume that is a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The properties that identify the disk.
    pub query: DiskQuery,
    /// What was requested.
    pub wanted: Wanted,
    /// Whether the disk was offline until this driver brought it online, or was about to.
    pub brought_online: bool,
    /// The volume of Windows that was mounted at the staging path.
    pub mounted: Option<VolumeId>,
    /// Its size in bytes, as far as the last stage or expansion reported it.
    pub size: Option<u64>,
    /// The length of its disk in bytes when the volume was staged or grown last, on hosts that may leave a growth undone.
    pub disk_bytes: Option<u64>,
}

/// What a record may be of.
pub trait OfVolume: Sized {
    /// The same, if it is of this kind.
    fn of(what: What) -> Option<Self>;

    /// The same, of any kind.
    fn into_what(self) -> What;
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

impl OfVolume for What {
    fn of(what: What) -> Option<Self> {
        Some(what)
    }

    fn into_what(self) -> What {
        self
    }
}

impl OfVolume for Disk {
    fn of(what: What) -> Option<Self> {
        match what {
            What::Disk(disk) => Some(disk),
            What::Share(_) => None,
        }
    }

    fn into_what(self) -> What {
        What::Disk(self)
    }
}

impl OfVolume for Share {
    fn of(what: What) -> Option<Self> {
        match what {
            What::Share(share) => Some(share),
            What::Disk(_) => None,
        }
    }

    fn into_what(self) -> What {
        What::Share(self)
    }
}

impl Record {
    /// The record, if it is of this kind.
    #[must_use]
    pub fn of<W: OfVolume>(self) -> Option<Record<W>> {
        let (what, rest) = self.parted();
        Some(rest.with(W::of(what)?))
    }

    /// The volume's size in bytes, as far as it is recorded.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match &self.what {
            What::Disk(disk) => disk.size,
            What::Share(_) => None,
        }
    }

    /// The record, by its kind.
    #[must_use]
    pub fn by_kind(self) -> ByKind {
        let (what, rest) = self.parted();
        match what {
            What::Disk(disk) => ByKind::Disk(rest.with(disk)),
            What::Share(share) => ByKind::Share(rest.with(share)),
        }
    }

    /// How many targets the volume may have.
    #[must_use]
    pub fn targets(&self) -> Targets {
        match &self.what {
            What::Disk(disk) => disk.wanted.targets,
            What::Share(share) => share.targets,
        }
    }
}

impl<W: OfVolume> Record<W> {
    /// The record, as one of any kind.
    #[must_use]
    pub fn of_any(self) -> Record {
        let (what, rest) = self.parted();
        rest.with(what.into_what())
    }
}

impl<W> Record<W> {
    /// Whether the volume was staged in this boot, as far as both boots are known.
    pub(crate) fn is_of_boot(&self, boot: Option<&str>) -> bool {
        let boots = self.boot.as_deref().zip(boot);
        boots.is_none_or(|(of_record, now)| of_record == now)
    }

    fn parted(self) -> (W, Record<()>) {
        let rest = Record {
            volume: self.volume,
            state: self.state,
            staging: self.staging,
            boot: self.boot,
            published: self.published,
            what: (),
        };
        (self.what, rest)
    }

    fn with<T>(self, what: T) -> Record<T> {
        Record {
            volume: self.volume,
            state: self.state,
            staging: self.staging,
            boot: self.boot,
            published: self.published,
            what,
        }
    }

    /// Whether the volume belongs at a path: it is staged or published there.
    #[must_use]
    pub fn is_at(&self, path: &WinPath) -> bool {
        self.staging == *path || self.published.contains(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_may_be_as_long_as_azures_and_has_a_limit() {
        let (group, disk) = ("g".repeat(90), "d".repeat(80));
        let azure = format!(
            "/subscriptions/{}/resourceGroups/{group}/providers/Microsoft.Compute/disks/{disk}",
            Uuid::nil()
        );
        assert_eq!(azure.len(), 272);
        VolumeHandle::parse(&azure).unwrap();
        let handle = |length| VolumeHandle::parse(&"x".repeat(length));
        assert!(handle(VolumeHandle::LONGEST).is_ok());
        assert_eq!(handle(0), Err(HandleError::Empty));
        assert_eq!(handle(1025), Err(HandleError::TooLong(1025)));
    }
}
