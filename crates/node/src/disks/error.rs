use std::fmt;

use os::{DiskNumber, VolumeId};

use super::{FoundDisk, Guarded, NotEnough, NotIdentified, PagingUnknown, SeenDisk};
use crate::join::or_none;
use crate::{BlankError, IscsiError, ProviderError, Unfinished, VisibilityError, VolumeError};

/// An operation on a disk failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// What is on the disk must not be overwritten.
    #[error(transparent)]
    Blank(#[from] BlankError),
    /// The disk is one that is never written.
    #[error("disk {disk} is not changed: {reason}")]
    Guarded {
        /// The disk.
        disk: DiskNumber,
        /// Why.
        reason: Guarded,
    },
    /// Windows refuses to take the disk offline, with a code that names no reason other than its being used, while
    /// we have its volumes locked. It stays online.
    #[error("disk {disk} is in use: {source}")]
    InUse {
        /// The disk.
        disk: DiskNumber,
        /// What Windows answered.
        source: ProviderError,
    },
    /// The initiator does not say which disks are behind a target that one is looked for behind.
    #[error(transparent)]
    Iscsi(#[from] Box<IscsiError>),
    /// The kernel refused a look at the disks.
    #[error("failed to query disk {disk}. error: {source}")]
    Kernel {
        /// The disk.
        disk: DiskNumber,
        /// Why.
        source: os::Error,
    },
    /// No disk has this identifier, or only such as are never written. The text is csi-proxy's.
    #[error("could not find disk with Page83 ID {page83}: not found")]
    NoSuchPage83 {
        /// The identifier.
        page83: String,
    },
    /// Not exactly one disk is what was looked for.
    #[error(transparent)]
    NotIdentified(#[from] Box<NotIdentified>),
    /// Another disk has the number of the one that was found, or that one is another by now.
    #[error("not the disk that was found by {}: found {}; now {now}", .found.wanted(), .found.seen())]
    NotTheFound {
        /// The disk that was found.
        found: Box<FoundDisk>,
        /// The disk that has its number now.
        now: Box<SeenDisk>,
    },
    /// A drive letter or a mounted folder leads to a volume of the disk, so it is not taken offline.
    #[error("disk {disk} stays online: {volume} has an access path")]
    Mounted {
        /// The disk.
        disk: DiskNumber,
        /// The volume.
        volume: VolumeId,
    },
    /// The disk is online and writable, and this volume of it keeps it from being taken offline to be made read-only.
    /// Nothing was changed.
    #[error("disk {disk} is online and writable, and is not made read-only: {volume} {obstacle}")]
    OnlineWritable {
        /// The disk.
        disk: DiskNumber,
        /// One of its volumes.
        volume: VolumeId,
        /// What is in the way.
        obstacle: Obstacle,
    },
    /// The disk is online and read-only, and would have to be written.
    #[error("disk {disk} is read-only")]
    ReadOnly {
        /// The disk.
        disk: DiskNumber,
    },
    /// The disk's partition has no volume yet.
    #[error(transparent)]
    Visibility(#[from] VisibilityError),
    /// It is not known where all page files and crash dumps go, so any disk may hold one; and nothing proves
    /// that what is changed is blank.
    #[error(
        "disk {disk} is not changed: it may hold a page file or a crash dump, which -disk-guard=warn passes over: {source}"
    )]
    Paging {
        /// The disk.
        disk: DiskNumber,
        /// Why it is not known.
        source: Box<PagingUnknown>,
    },
    /// The storage provider does not know the disk, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Several disks have this identifier.
    #[error("not one disk but {} have the Page83 ID {page83}", or_none(.disks))]
    SeveralPage83 {
        /// The identifier.
        page83: String,
        /// The disks.
        disks: Vec<DiskNumber>,
    },
    /// Windows brought the disk online, and it is not.
    #[error("disk {disk} stays offline")]
    StaysOffline {
        /// The disk.
        disk: DiskNumber,
    },
    /// Windows took the disk offline, and it is not.
    #[error("disk {disk} stays online")]
    StaysOnline {
        /// The disk.
        disk: DiskNumber,
    },
    /// The disk is online, and refuses writes also after its read-only attribute was cleared.
    #[error("disk {disk} stays read-only")]
    StaysReadOnly {
        /// The disk.
        disk: DiskNumber,
    },
    /// The disk takes writes also after it was made read-only. It is offline, unless the log says otherwise; but one
    /// that was online before, and was found writable while it was offline, is online again.
    #[error("disk {disk} stays writable")]
    StaysWritable {
        /// The disk.
        disk: DiskNumber,
    },
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// The disk does not tell enough of itself.
    #[error("disk {disk} cannot be told from others: {source}")]
    Untold {
        /// The disk.
        disk: DiskNumber,
        /// What is missing.
        source: NotEnough,
    },
    /// Kernel and storage provider see different disks or partition tables, also after a refresh.
    #[error("disk {disk}: the kernel sees {kernel}, the storage provider {provider}")]
    ViewsDiffer {
        /// The disk.
        disk: DiskNumber,
        /// The kernel's view.
        kernel: String,
        /// The provider's view.
        provider: String,
    },
    /// The device refuses writes, and would have to be written. No attribute of Windows's is the reason.
    #[error("disk {disk} is write-protected by its device")]
    WriteProtected {
        /// The disk.
        disk: DiskNumber,
    },
    /// A volume on the disk is in use, or not let go for another reason.
    #[error(transparent)]
    Volume(#[from] Box<VolumeError>),
}

/// What of a volume is in the way where its disk is to go offline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// A drive letter or mounted folder leads to it.
    AccessPath,
    /// Somebody has something open on it.
    OpenFile,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AccessPath => "has an access path",
            Self::OpenFile => "is in use",
        })
    }
}

impl DiskError {
    /// The kernel's error on a disk; "not found" reads as the provider's does.
    pub(crate) fn kernel(disk: DiskNumber) -> impl Fn(os::Error) -> Self {
        move |source| match source.is_not_found() {
            true => ProviderError::not_found(&format_args!("disk {disk}")).into(),
            false => Self::Kernel { disk, source },
        }
    }
}
