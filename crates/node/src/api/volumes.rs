use os::{Deadline, DiskNumber, PartitionNumber, Space, VolumeId, WinPath};

use super::Result;
#[allow(unused_imports, reason = "the pages link to them")]
use super::links::*;
use super::operations::operations;
use crate::{FormatOptions, Formatted, FoundDisk, FoundVolume, NewSize, Resized};

operations! {
by deadline;

/// The operations on volumes.
pub trait Volumes {
    /// The volumes on a disk, or on one of its partitions, in the order of their offsets, without those of reserved,
    /// EFI and recovery partitions: a list to read. It waits for a while until every basic data partition has its
    /// volume; a disk that is offline or has no partitions has none. Operations that change a volume take a result of
    /// [`Volumes::find_on`] or [`Volumes::find_at`]; for a disk with several volumes, [`FoundVolume::on_disk`] of one
    /// of these.
    ///
    /// # Errors
    /// [`NotFound`] without such a disk or partition; csi-proxy's pipes return an empty list instead. [`NotReady`],
    /// [`NotAnswering`].
    fn list_on_disk(
        &self,
        disk: DiskNumber,
        partition: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Vec<VolumeId>>
        = volumes.list_on_disk, "list the volumes of disk", disk;

    /// The one volume on a found disk, after a check that it is still the same disk. Operations that format or resize a
    /// volume for a driver take the result of this or of [`Volumes::find_at`], and check it again right before the
    /// change.
    ///
    /// # Errors
    /// [`NotFound`] for no volume, [`Ambiguous`] for several; [`Changed`], [`NotReady`].
    fn find_on(&self, disk: &FoundDisk, deadline: Deadline) -> Result<FoundVolume>
        = volumes.find_on, "find the volume of disk", disk.number();

    /// The volume that is mounted where a path leads by links: the one that a driver mounted there. The caller must
    /// trust the path.
    ///
    /// # Errors
    /// As [`Volumes::of_target`].
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume>
        = volumes.find_at, "find the volume at", path;

    /// Mounts a volume at an existing empty folder; if it is mounted there already, nothing is done. A mounted folder
    /// whose volume is certainly gone is replaced: the mount manager does not list the volume, and cannot resolve the
    /// folder. So a disk that was pulled out before it was unstaged does not block its staging path for the next. A
    /// volume whose disk is offline counts as gone.
    ///
    /// See [`Feature::StaleMounts`].
    ///
    /// # Errors
    /// [`Changed`] if the volume is no longer where it was found; [`TargetInUse`], [`NotEmpty`], [`NotFound`],
    /// [`DeviceFailed`], [`PathRefused`], [`OutOfReach`].
    fn mount(&self, volume: &FoundVolume, folder: &WinPath, deadline: Deadline) -> Result<()>
        = volumes.mount_over_stale, "mount", folder;

    /// Flushes a volume and unmounts it from a folder, which stays, empty. Other paths to the volume stay. A flush that
    /// fails is an error as long as the volume exists.
    ///
    /// # Errors
    /// [`NotAMountedFolder`], [`NotFound`]; [`TargetInUse`] of another volume; [`DanglingLink`], [`OutOfReach`],
    /// [`PathRefused`], [`DeviceFailed`].
    fn unmount(&self, volume: VolumeId, folder: &WinPath, deadline: Deadline) -> Result<()>
        = volumes.unmount, "unmount", folder;

    /// Whether the volume has a filesystem that Windows knows. A failed read never returns "no".
    ///
    /// # Errors
    /// [`NotFound`], [`NotAnswering`], [`DeviceFailed`].
    fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool>
        = volumes.is_formatted, "look at volume", volume;

    /// Formats a blank volume with NTFS, quickly, and waits until the filesystem is there. A call that waited while
    /// another one formatted the volume returns the result of that one, and formats nothing. See
    /// [`Feature::BlankProof`].
    ///
    /// # Errors
    /// [`Changed`], [`NotBlank`], [`Guarded`], [`NotFound`], [`Offline`], [`ReadOnly`], [`NotReady`], [`OutOfDate`],
    /// [`DeviceFailed`].
    fn format(&self, volume: &FoundVolume, deadline: Deadline) -> Result<()>
        = volumes.format, "format volume", volume.id() => drop;

    /// Ensures that a volume has the requested filesystem: a blank volume is formatted, quickly, and gets its access
    /// control list; one that an earlier call left half-done is finished, wherever that call was cut off. A volume that
    /// has this filesystem is left as it is, whatever its allocation unit, label and list are: it may hold data, and
    /// its owner may have changed them.
    ///
    /// Without [`Feature::Outcomes`] a volume with any filesystem is [`Formatted::Unreported`].
    ///
    /// # Errors
    /// [`OtherFileSystem`], and as [`Volumes::format`]. [`Cause::Unsupported`] without [`Feature::FormatOptions`].
    fn ensure_formatted(
        &self,
        volume: &FoundVolume,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted>
        = volumes.ensure_formatted, "format volume", volume.id();

    /// Grows a volume, and reports whether it did. Nothing shrinks; sizes are rounded down to whole MiB, and growth of
    /// less than 1 MiB does nothing, as Windows refuses it; but a filesystem smaller than its partition is always
    /// extended. ReFS uses whole units of 64 MiB: smaller growth only reaches its partition. Without
    /// [`Feature::SmallGrowth`] the limit is 100 MiB.
    ///
    /// To expand a volume, a driver finds it by its mount path. A found disk leads to it too, but a disk that was found
    /// by its size must be found again after it has grown. Without [`Feature::Outcomes`] every success is
    /// [`Resized::Unreported`].
    ///
    /// # Errors
    /// [`Changed`], [`NoRoom`], [`NotFound`], [`Guarded`], [`ReadOnly`], [`NotReady`], [`DeviceFailed`].
    fn resize(&self, volume: &FoundVolume, size: NewSize, deadline: Deadline) -> Result<Resized>
        = volumes.resize, "resize volume", volume.id();

    /// Size and free space of the volume's filesystem, in bytes. A volume without one is an error; over csi-proxy's
    /// pipes its filesystem has no size.
    ///
    /// # Errors
    /// [`NotFound`], [`NotAnswering`], [`DeviceFailed`].
    fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space>
        = volumes.stats, "look at volume", volume;

    /// The disk that holds the volume.
    ///
    /// # Errors
    /// [`NotFound`], [`NotAnswering`]; [`Other`] of a volume on several disks.
    fn disk_number(&self, volume: VolumeId, deadline: Deadline) -> Result<DiskNumber>
        = volumes.disk_number, "find the disk of volume", volume;

    /// The volume that is mounted where a path leads by links.
    ///
    /// # Errors
    /// [`NotFound`] when the path itself is missing, [`NotAMountedFolder`], [`DanglingLink`], [`OutOfReach`]. The first
    /// two mean that nothing is mounted there; the others do not.
    fn of_target(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId>
        = volumes.of_target, "find the volume at", path;

    /// The volume that holds the entry of this path, links followed.
    ///
    /// # Errors
    /// As [`Volumes::of_target`], but never [`NotAMountedFolder`].
    fn closest(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId>
        = volumes.closest, "find the volume of", path;

    /// Writes everything cached for the volume to its disk.
    ///
    /// # Errors
    /// [`NotFound`], [`ReadOnly`], [`DeviceFailed`].
    fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<()>
        = volumes.flush, "flush volume", volume;
}
}
