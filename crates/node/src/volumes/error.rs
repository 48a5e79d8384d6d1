use os::{DiskNumber, Extent, VolumeId, Win32};

use super::{FileSystemType, NotReleased, TargetError, VisibilityError};
use crate::blank::OVERWRITE_HINT;
use crate::join::or_none;
use crate::{BlankError, DiskError, ProviderError, Refusal, Unfinished, driver_texts};

/// An operation on a volume failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The content of the volume must not be overwritten.
    #[error(transparent)]
    Blank(#[from] BlankError),
    /// The volume's disk refuses, or is unknown.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The volume was formatted, at least by report, and still has no filesystem.
    #[error("volume {volume} has no filesystem after it was formatted")]
    FormatUnseen {
        /// The volume.
        volume: VolumeId,
    },
    /// A call about the volume failed.
    #[error("{operation} volume {volume}: {}", .source.cause)]
    Failed {
        /// The operation that failed.
        operation: &'static str,
        /// The volume.
        volume: VolumeId,
        /// The system's error.
        source: os::Error,
    },
    /// A process has something on the volume open, and did not close it within the wait.
    #[error("volume {volume} is in use: files or folders on it are open")]
    InUse {
        /// The volume.
        volume: VolumeId,
    },
    /// The volume could not be mounted.
    #[error("mount volume {volume} at {path}: {}", .source.cause)]
    Mount {
        /// The volume.
        volume: VolumeId,
        /// The folder where it was to be mounted.
        path: String,
        /// The system's error.
        source: os::Error,
    },
    /// The volume has moved since it was looked at: its disk has another number now, or its name
    /// belongs to another partition.
    #[error("volume {volume} was {} and is {} now", place(.from), place(.to))]
    Moved {
        /// The volume.
        volume: VolumeId,
        /// Its place on the locked disk.
        from: Extent,
        /// Its reported place now.
        to: Extent,
    },
    /// The requested size is below zero. The text is csi-proxy's.
    #[error("invalid negative size {size} for volume ({volume})")]
    NegativeSize {
        /// The volume.
        volume: VolumeId,
        /// The requested size.
        size: i64,
    },
    /// The path leads to neither a mounted folder nor a plain directory: a link, a junction, a file.
    #[error("unmount volume {volume}: {path} is no mounted folder but something else")]
    NotAMountedFolder {
        /// The volume.
        volume: VolumeId,
        /// The path.
        path: String,
    },
    /// Nothing is mounted there: the path is a plain directory, or does not exist. Drivers match on
    /// the last sentence.
    #[error(
        "unmount volume {volume}: {path} is not a mounted folder. {}.",
        driver_texts::NOT_MOUNTED
    )]
    NotMounted {
        /// The volume.
        volume: VolumeId,
        /// The path.
        path: String,
    },
    /// The volume has a filesystem, and its owner may still need it.
    #[error(
        "volume {volume} is not overwritten: {found}, and {reason}; {}",
        OVERWRITE_HINT
    )]
    NotReleased {
        /// The volume.
        volume: VolumeId,
        /// The content that the proof found.
        found: Box<Refusal>,
        /// Why its owner may need it.
        #[source]
        reason: Box<NotReleased>,
    },
    /// The volume is not a partition of one disk.
    #[error(
        "volume {volume} is not one partition of one disk but has {extents} extents on disks {}",
        or_none(.disks)
    )]
    NotOnePartition {
        /// The volume.
        volume: VolumeId,
        /// The number of its extents.
        extents: usize,
        /// The disks.
        disks: Vec<DiskNumber>,
    },
    /// The volume is not on the disk that was found.
    #[error("not the volume that was found: {volume} on disk {found}, and is on disk {disk} now")]
    OnAnotherDisk {
        /// The volume.
        volume: VolumeId,
        /// The disk that was found.
        found: DiskNumber,
        /// The disk that the volume is on.
        disk: DiskNumber,
    },
    /// The volume has another filesystem than the requested one.
    #[error("volume {volume} is not formatted with {wanted}: it has the filesystem {found}")]
    OtherFileSystem {
        /// The volume.
        volume: VolumeId,
        /// Its filesystem, by Windows's name.
        found: String,
        /// The requested filesystem.
        wanted: FileSystemType,
    },
    /// Another volume is mounted there.
    #[error("unmount volume {volume}: volume {mounted} is mounted at {path}")]
    OtherMounted {
        /// The volume that was to be unmounted.
        volume: VolumeId,
        /// The volume that is mounted there.
        mounted: VolumeId,
        /// The path.
        path: String,
    },
    /// Another volume is mounted where this one was found.
    #[error(
        "not the volume that was found: {volume} at {path}, where volume {mounted} is mounted now"
    )]
    NotMountedThere {
        /// The volume that was found.
        volume: VolumeId,
        /// The volume that is mounted there now.
        mounted: VolumeId,
        /// The path.
        path: String,
    },
    /// The disk has no volume, or several.
    #[error("disk {disk} has not one volume but {}", or_none(.volumes))]
    NotOneVolume {
        /// The disk.
        disk: DiskNumber,
        /// Its volumes.
        volumes: Vec<VolumeId>,
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
        /// The volume that was to be mounted.
        volume: VolumeId,
        /// The volume that is mounted there.
        mounted: VolumeId,
        /// The path.
        path: String,
    },
    /// The disk has no room for the size.
    #[error("volume {volume} cannot grow to {size} bytes: there is room for {maximum}")]
    TooLarge {
        /// The volume.
        volume: VolumeId,
        /// The requested size.
        size: u64,
        /// The largest possible size.
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
