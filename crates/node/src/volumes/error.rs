use os::{DiskNumber, Extent, PartitionNumber, VolumeId, Win32};

use super::{FileSystemType, NotReleased, TargetError, VisibilityError};
use crate::blank::OVERWRITE_HINT;
use crate::text::or_none;
use crate::{BlankError, DiskError, ProviderError, Refusal, Unfinished, driver_texts};

/// An operation on a volume failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum VolumeError {
    /// The content of the volume must not be overwritten.
    #[error(transparent)]
    Blank(#[from] BlankError),
    /// The volume's disk refuses, or is unknown.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The volume was formatted, at least by report, and still has no filesystem.
    #[error("volume {volume} has no filesystem after it was formatted")]
    FormatUnseen { volume: VolumeId },
    /// A call about the volume failed.
    #[error("{operation} volume {volume}: {}", .source.cause)]
    Failed {
        operation: &'static str,
        volume: VolumeId,
        source: os::Error,
    },
    /// A process has something on the volume open, and did not close it within the wait.
    #[error("volume {volume} is in use: files or folders on it are open")]
    InUse { volume: VolumeId },
    /// The volume could not be mounted.
    #[error("mount volume {volume} at {path}: {}", .source.cause)]
    Mount {
        volume: VolumeId,
        path: String,
        source: os::Error,
    },
    /// The volume has moved since it was looked at: its disk has another number now, or its name
    /// belongs to another partition.
    #[error("volume {volume} was {} and is {} now", place(.from), place(.to))]
    Moved {
        volume: VolumeId,
        /// Its place on the locked disk.
        from: Extent,
        /// Its reported place now.
        to: Extent,
    },
    /// The requested size is below zero. The text is csi-proxy's.
    #[error("invalid negative size {size} for volume ({volume})")]
    NegativeSize { volume: VolumeId, size: i64 },
    /// The path leads to neither a mounted folder nor a plain directory: a link, a junction, a file.
    #[error("unmount volume {volume}: {path} is no mounted folder but something else")]
    NotAMountedFolder { volume: VolumeId, path: String },
    /// Nothing is mounted there: the path is a plain directory, or does not exist. Drivers match on
    /// the last sentence.
    #[error(
        "unmount volume {volume}: {path} is not a mounted folder. {}.",
        driver_texts::NOT_MOUNTED
    )]
    NotMounted { volume: VolumeId, path: String },
    /// The volume has a filesystem, and its owner may still need it.
    #[error(
        "volume {volume} is not overwritten: {found}, and {reason}; {}",
        OVERWRITE_HINT
    )]
    NotReleased {
        volume: VolumeId,
        found: Box<Refusal>,
        #[source]
        reason: Box<NotReleased>,
    },
    /// The volume is not a partition of one disk.
    #[error(
        "volume {volume} is not one partition of one disk but has {extents} extents on disks {}",
        or_none(.disks)
    )]
    NotOnePartition {
        volume: VolumeId,
        extents: usize,
        disks: Vec<DiskNumber>,
    },
    /// The volume is not on the disk that was found.
    #[error("not the volume that was found: {volume} on disk {found}, and is on disk {disk} now")]
    OnAnotherDisk {
        volume: VolumeId,
        found: DiskNumber,
        disk: DiskNumber,
    },
    /// The volume has another filesystem than the requested one.
    #[error("volume {volume} is not formatted with {wanted}: it has the filesystem {found}")]
    OtherFileSystem {
        volume: VolumeId,
        /// Its filesystem, by Windows's name.
        found: String,
        wanted: FileSystemType,
    },
    /// Another volume is mounted there.
    #[error("unmount volume {volume}: volume {mounted} is mounted at {path}")]
    OtherMounted {
        volume: VolumeId,
        mounted: VolumeId,
        path: String,
    },
    /// Another volume is mounted where this one was found.
    #[error(
        "not the volume that was found: {volume} at {path}, where volume {mounted} is mounted now"
    )]
    NotMountedThere {
        volume: VolumeId,
        mounted: VolumeId,
        path: String,
    },
    /// The disk has no volume, or several.
    #[error("disk {disk} has not one volume but {}", or_none(.volumes))]
    NotOneVolume {
        disk: DiskNumber,
        volumes: Vec<VolumeId>,
    },
    /// The disk has several partitions with a volume each, once it is online.
    #[error("disk {disk} has not one volume but partitions {}", or_none(.partitions))]
    SeveralPartitions {
        disk: DiskNumber,
        partitions: Vec<PartitionNumber>,
    },
    /// The storage provider does not know the volume, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A path does not lead to a volume.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Another volume is mounted at the folder. The text is not [`driver_texts::PATH_IN_USE`].
    #[error(
        "mount volume {volume} at {path}: volume {mounted} is mounted there: The directory is not empty."
    )]
    TargetInUse {
        volume: VolumeId,
        mounted: VolumeId,
        path: String,
    },
    /// The disk has no room for the size.
    #[error("volume {volume} cannot grow to {size} bytes: there is room for {maximum}")]
    TooLarge {
        volume: VolumeId,
        size: u64,
        maximum: u64,
    },
    /// The call timed out or never started.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// The volumes of a disk cannot be determined.
    #[error(transparent)]
    Visibility(#[from] VisibilityError),
}

impl VolumeError {
    pub(crate) fn none_on(disk: DiskNumber) -> Self {
        let volumes = Vec::new();
        Self::NotOneVolume { disk, volumes }
    }

    /// Whether the volume has no filesystem that Windows knows.
    #[must_use]
    pub fn is_unformatted(&self) -> bool {
        matches!(self, Self::Failed { source, .. } if source.win32() == Some(Win32::UNRECOGNIZED_VOLUME))
    }

    pub(crate) fn failed(
        operation: &'static str,
        volume: VolumeId,
    ) -> impl FnOnce(os::Error) -> Self {
        move |source| Self::Failed {
            operation,
            volume,
            source,
        }
    }
}

fn place(extent: &Extent) -> String {
    let Extent {
        disk,
        offset,
        length,
    } = extent;
    format!("on disk {disk} from byte {offset} on for {length} bytes")
}
