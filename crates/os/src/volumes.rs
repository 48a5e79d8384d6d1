use crate::{DiskNumber, Result, VolumeId, WinPath};

/// The volumes as the mount manager and the file systems know them.
pub trait Volumes: Send + Sync {
    /// All volumes, in the system's order (`FindFirstVolumeW`).
    ///
    /// # Errors
    /// The list cannot be read.
    fn list(&self) -> Result<Vec<VolumeId>>;

    /// The parts of disks that make up the volume (`IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS`).
    ///
    /// # Errors
    /// No such volume, or its disk is offline.
    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>>;

    /// Size and free space of the volume's filesystem (`GetDiskFreeSpaceExW`).
    ///
    /// # Errors
    /// No such volume; [`crate::Win32::UNRECOGNIZED_VOLUME`] when it has no filesystem.
    fn space(&self, volume: VolumeId) -> Result<Space>;

    /// Size and free space of the filesystem that this directory lies on, all links and mounted folders followed,
    /// also the one at the end of the path; of a share the server says (`GetDiskFreeSpaceExW`).
    ///
    /// What a driver reports of a pod's directory and what tells whether a share has room are its two uses.
    ///
    /// # Errors
    /// No such directory; something other than a directory; [`crate::Win32::UNRECOGNIZED_VOLUME`] behind a
    /// folder of a volume without a filesystem; a share that is not reached has the redirector's codes.
    fn space_at(&self, directory: &WinPath) -> Result<Space>;

    /// The filesystem (`GetVolumeInformationW`); `None` when the volume is RAW.
    ///
    /// # Errors
    /// No such volume, or it cannot be read.
    fn file_system(&self, volume: VolumeId) -> Result<Option<FileSystem>>;

    /// The volume that is mounted at exactly this folder (`GetVolumeNameForVolumeMountPointW`).
    ///
    /// # Errors
    /// [`crate::Win32::NOT_A_REPARSE_POINT`] for a plain folder; no such folder; the volume is gone.
    fn mounted_at(&self, folder: &WinPath) -> Result<VolumeId>;

    /// All folders and drive letters where the volume is mounted
    /// (`GetVolumePathNamesForVolumeNameW`).
    ///
    /// # Errors
    /// No such volume.
    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>>;

    /// Mounts the volume at an existing empty folder (`SetVolumeMountPointW`).
    ///
    /// # Errors
    /// [`crate::Win32::DIR_NOT_EMPTY`] when the folder holds something or is a mounted folder
    /// already; no such folder; no such volume.
    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()>;

    /// Makes a mounted folder a plain folder again (`DeleteVolumeMountPointW`).
    ///
    /// # Errors
    /// The folder does not exist or is not a mounted folder.
    fn delete_mount_point(&self, folder: &WinPath) -> Result<()>;

    /// Makes a mounted folder that names this volume a plain folder again, for a volume that is gone, where
    /// [`Volumes::delete_mount_point`] fails (`FSCTL_DELETE_REPARSE_POINT`). The mount manager is not told.
    ///
    /// Unmounting a volume that is gone and mounting another in its place are its two uses.
    ///
    /// # Errors
    /// [`crate::Win32::NOT_A_REPARSE_POINT`] for a plain folder; [`crate::Win32::REPARSE_TAG_MISMATCH`] where the
    /// folder names another volume, and for another kind of reparse point; no such folder.
    fn delete_reparse_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()>;

    /// Writes everything cached for the volume to its disk (`FlushFileBuffers` on the volume).
    ///
    /// # Errors
    /// No such volume, [`crate::Win32::WRITE_PROTECT`] on a read-only one, a medium error.
    fn flush(&self, volume: VolumeId) -> Result<()>;

    /// Takes the volume for one owner (`FSCTL_LOCK_VOLUME`).
    ///
    /// # Errors
    /// [`crate::Win32::ACCESS_DENIED`] while anything on the volume is open.
    fn lock(&self, volume: VolumeId) -> Result<Box<dyn VolumeLock>>;

    /// Grows the filesystem to `bytes` inside its partition (`FSCTL_EXTEND_VOLUME`).
    ///
    /// # Errors
    /// The partition is smaller than that, or the filesystem cannot grow.
    fn extend(&self, volume: VolumeId, bytes: u64) -> Result<()>;
}

/// A volume that is locked; dropping it unlocks.
pub trait VolumeLock: Send {
    /// Invalidates every handle on the volume and unmounts its filesystem
    /// (`FSCTL_DISMOUNT_VOLUME`).
    ///
    /// # Errors
    /// The volume is gone.
    fn dismount(&self) -> Result<()>;
}

/// A stretch of a disk that belongs to a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// The disk.
    pub disk: DiskNumber,
    /// Where it begins, in bytes from the start of the disk.
    pub offset: u64,
    /// How long it is, in bytes.
    pub length: u64,
}

/// The size of a filesystem, in bytes, as `GetDiskFreeSpaceExW` tells it to the account of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Space {
    /// All of it; under a quota for the account, no more than that.
    pub total: u64,
    /// The unused bytes.
    pub free: u64,
    /// The bytes that this account may still use: less than `free` if it has a quota.
    pub available: u64,
}

/// A filesystem as `GetVolumeInformationW` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name: `NTFS`, `ReFS`.
    pub name: String,
    /// Its label; empty when it has none.
    pub label: String,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}
