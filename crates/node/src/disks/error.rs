use os::{DiskNumber, VolumeId};

use super::{FoundDisk, Guarded, NotEnough, NotIdentified, OfflineReason, PagingUnknown, SeenDisk};
use crate::text::or_none;
use crate::{BlankError, IscsiError, ProviderError, Unfinished, VisibilityError, VolumeError};

/// An operation on a disk failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum DiskError {
    /// The content of the disk must not be overwritten.
    #[error(transparent)]
    Blank(#[from] BlankError),
    /// The disk is never written.
    #[error("disk {disk} is not changed: {reason}")]
    Guarded { disk: DiskNumber, reason: Guarded },
    /// Windows refuses to take the disk offline while we hold the locks of its volumes, with a code for a used
    /// disk or one without a reason. The disk stays online.
    #[error("disk {disk} is in use: {source}")]
    InUse {
        disk: DiskNumber,
        source: ProviderError,
    },
    /// The storage provider does not find the object of a disk that the kernel has: the disk is not gone.
    #[error("disk {disk} is lost to the storage provider alone: {source}")]
    Lost {
        disk: DiskNumber,
        source: ProviderError,
    },
    /// The initiator does not report the disks behind an iSCSI target.
    #[error(transparent)]
    Iscsi(#[from] Box<IscsiError>),
    /// The kernel refused a query of the disks.
    #[error("failed to query disk {disk}. error: {source}")]
    Kernel { disk: DiskNumber, source: os::Error },
    /// No disk has this identifier, or only disks that are never written. The text is csi-proxy's.
    #[error("could not find disk with Page83 ID {page83}: not found")]
    NoSuchPage83 { page83: String },
    /// Zero or several disks match the query.
    #[error(transparent)]
    NotIdentified(#[from] Box<NotIdentified>),
    /// The number belongs to another disk than the one that was found.
    #[error("not the disk that was found by {}: found {}; now {now}", .found.wanted(), .found.seen())]
    NotTheFound {
        found: Box<FoundDisk>,
        now: Box<SeenDisk>,
    },
    /// A drive letter or a mounted folder leads to a volume of the disk, so it is not taken offline.
    #[error("disk {disk} stays online: {volume} has an access path")]
    Mounted { disk: DiskNumber, volume: VolumeId },
    /// The disk is online and writable, and this volume keeps it from going offline to be made read-only. Nothing was
    /// changed.
    #[error("disk {disk} is online and writable, and is not made read-only: {volume} {obstacle}")]
    OnlineWritable {
        disk: DiskNumber,
        /// One of its volumes.
        volume: VolumeId,
        obstacle: Obstacle,
    },
    /// The disk is online and read-only, and the call would have to write to it.
    #[error("disk {disk} is read-only")]
    ReadOnly { disk: DiskNumber },
    /// The disk is another path to disks that are there, and MPIO does not bring them together.
    #[error(
        "disk {disk} is another path to {}, and both would write to one disk: set up MPIO, or end one of its sessions",
        paths(.others)
    )]
    RedundantPath {
        disk: DiskNumber,
        /// As far as the storage provider tells.
        others: Vec<DiskNumber>,
    },
    /// The disk's partition has no volume yet.
    #[error(transparent)]
    Visibility(#[from] VisibilityError),
    /// The places of page files and crash dumps are not all known, so any disk may hold one, and the change
    /// is not limited to content that is proved blank.
    #[error(
        "disk {disk} is not changed: it may hold a page file or a crash dump, which -disk-guard=warn passes over: {source}"
    )]
    Paging {
        disk: DiskNumber,
        source: Box<PagingUnknown>,
    },
    /// The storage provider does not know the disk, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Several disks have this identifier.
    #[error("not one disk but {} have the Page83 ID {page83}", or_none(.disks))]
    SeveralPage83 {
        page83: String,
        disks: Vec<DiskNumber>,
    },
    /// Windows reported that it brought the disk online, but the disk is offline.
    #[error("disk {disk} stays offline")]
    StaysOffline { disk: DiskNumber },
    /// Windows reported that it took the disk offline, but the disk is online.
    #[error("disk {disk} stays online")]
    StaysOnline { disk: DiskNumber },
    /// The disk is online, and refuses writes after its read-only attribute was cleared.
    #[error("disk {disk} stays read-only")]
    StaysReadOnly { disk: DiskNumber },
    /// The disk still takes writes after it was made read-only. It is offline, unless the log reports otherwise. But
    /// a disk that was online before, and was found writable while it was offline, is online again.
    #[error("disk {disk} stays writable")]
    StaysWritable { disk: DiskNumber },
    /// The disk does not come online.
    #[error("{source}; Windows keeps it offline: {reason}")]
    KeptOffline {
        reason: OfflineReason,
        source: Box<Self>,
    },
    /// The call timed out or never started.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// The disk reports too little about itself.
    #[error("disk {disk} cannot be told from others: {source}")]
    Untold { disk: DiskNumber, source: NotEnough },
    /// Kernel and storage provider see different disks or partition tables, also after a refresh.
    #[error("disk {disk}: the kernel sees {kernel}, the storage provider {provider}")]
    ViewsDiffer {
        disk: DiskNumber,
        kernel: String,
        provider: String,
    },
    /// The device refuses writes, and the call would have to write. No attribute of Windows is the
    /// reason.
    #[error("disk {disk} is write-protected by its device")]
    WriteProtected { disk: DiskNumber },
    /// A volume on the disk is in use, or could not be released for another reason.
    #[error(transparent)]
    Volume(#[from] Box<VolumeError>),
}

/// Why a volume keeps its disk online.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// A drive letter or mounted folder leads to the volume.
    #[error("has an access path")]
    AccessPath,
    /// A process has something open on the volume.
    #[error("is in use")]
    OpenFile,
}

fn paths(others: &[DiskNumber]) -> String {
    match others.split_first() {
        None => String::from("a disk"),
        Some((first, others)) => {
            let others = others.iter().map(|other| format!(", disk {other}"));
            others.fold(format!("disk {first}"), |text, other| text + &other)
        }
    }
}

impl DiskError {
    /// Wraps the kernel's error on a disk; "not found" has the provider's text.
    pub(crate) fn kernel(disk: DiskNumber) -> impl Fn(os::Error) -> Self {
        move |source| match source.is_not_found() {
            true => ProviderError::not_found(&format_args!("disk {disk}")).into(),
            false => Self::Kernel { disk, source },
        }
    }
}
