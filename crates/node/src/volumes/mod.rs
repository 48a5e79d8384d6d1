//! Volumes.

mod error;
mod fill;
pub(crate) mod flush;
mod format;
mod found;
mod history;
mod mount;
pub(crate) mod on_disk;
mod options;
mod released;
mod resize;
pub(crate) mod stale;
pub(crate) mod target;
mod writable;

use os::{Deadline, DiskNumber, PartitionNumber, Space, VolumeId, WinPath};

pub use self::error::VolumeError;
use self::format::Formatting;
pub use self::format::{Formatted, Replaced};
pub use self::found::{Evidence, FoundVolume, NamedVolume};
pub(crate) use self::history::History;
use self::mount::Mounting;
pub use self::on_disk::VisibilityError;
pub use self::options::{AllocationUnit, FileSystemType, FormatOptions, FormatOptionsError};
pub(crate) use self::released::KeptPaths;
pub use self::released::{Kept, NotReleased};
use self::resize::{LEAST_OF_CSI_PROXY, LEAST_OF_WINDOWS, Resizing};
pub use self::resize::{NewSize, Resized};
pub use self::target::TargetError;
pub(crate) use self::writable::{disk_of, disks_of};
use crate::locks::Key;
use crate::{FoundDisk, LookupPath, Named, Node, ResolvedPath};

/// The operations on the volumes of a [`Node`].
pub struct Volumes<'a> {
    node: &'a Node,
}

impl<'a> Volumes<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// The volumes on a disk, or on one of its partitions, in the order of their offsets, without
    /// those of reserved, EFI and recovery partitions. Waits for a while until every basic data
    /// partition has its volume. A disk that is offline or has no partitions has no volumes.
    ///
    /// # Errors
    /// There is no such disk or partition, or a partition's volume does not appear.
    pub fn list_on_disk(
        &self,
        disk: DiskNumber,
        partition: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Vec<VolumeId>, VolumeError> {
        self.node
            .check(deadline, "list the volumes of disk", &disk)?;
        on_disk::wait(self.node, disk, partition, deadline)
    }

    /// The one volume on a disk.
    ///
    /// # Errors
    /// As [`Volumes::list_on_disk`]; the disk has no volume, or several.
    pub fn sole_on_disk(
        &self,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<VolumeId, VolumeError> {
        let volumes = self.list_on_disk(disk, None, deadline)?;
        match volumes.as_slice() {
            [one] => Ok(*one),
            _ => Err(VolumeError::NotOneVolume { disk, volumes }),
        }
    }

    /// The one volume on a found disk, after a check that it is still the same disk.
    ///
    /// # Errors
    /// As [`Volumes::sole_on_disk`]; another disk has the number now ([`crate::DiskError::NotTheFound`]).
    pub fn find_on(
        &self,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<FoundVolume, VolumeError> {
        let volume = self.sole_on_disk(disk.number(), deadline)?;
        Named::from(disk).require(self.node, deadline)?;
        Ok(FoundVolume::on_disk(volume, disk.clone()))
    }

    /// The volume that is mounted where a path leads by links and junctions. The caller must trust the
    /// path.
    ///
    /// # Errors
    /// The path leads to no mounted folder.
    pub fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume, VolumeError> {
        let volume = self.of_target(path, deadline)?;
        Ok(FoundVolume::mounted_at(volume, path.clone()))
    }

    /// Mounts a volume at an existing empty folder. If it is mounted there already, nothing is
    /// done.
    ///
    /// # Errors
    /// The folder is missing, holds something, or has another volume mounted; there is no such
    /// volume.
    pub fn mount(
        &self,
        volume: VolumeId,
        folder: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), VolumeError> {
        let volume = NamedVolume::Id(volume);
        self.mounting("mount", volume, &folder.into(), deadline, |mounting| {
            mounting.mount()
        })
    }

    /// [`Volumes::mount`], and replaces a mounted folder whose volume is certainly gone: the mount manager does not
    /// list the volume, and cannot resolve the folder. So a disk that was pulled out before it was unstaged does
    /// not block its staging path for the next; csi-proxy's call fails with "directory not empty". A volume whose
    /// disk is offline counts as gone.
    ///
    /// # Errors
    /// As [`Volumes::mount`]; the volume is no longer where it was found.
    pub fn mount_over_stale<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        folder: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), VolumeError> {
        let volume = volume.into();
        self.mounting("mount", volume, &folder.into(), deadline, |mounting| {
            mounting.mount_over_stale()
        })
    }

    /// Flushes a volume and unmounts it from a folder, which stays, empty. Other paths to the
    /// volume stay.
    ///
    /// # Errors
    /// The volume is not mounted at the folder, or the flush fails and the volume still exists.
    pub fn unmount(
        &self,
        volume: VolumeId,
        folder: impl Into<ResolvedPath>,
        deadline: Deadline,
    ) -> Result<(), VolumeError> {
        let volume = NamedVolume::Id(volume);
        self.mounting("unmount", volume, &folder.into(), deadline, |mounting| {
            mounting.unmount()
        })
    }

    /// Whether the volume has a filesystem that Windows knows.
    ///
    /// # Errors
    /// There is no such volume, or it cannot be read; a failed read never returns "no".
    pub fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool, VolumeError> {
        self.node.check(deadline, "look at volume", &volume)?;
        let file_system = self.node.os().volumes.file_system(volume);
        let file_system = file_system.map_err(VolumeError::failed("look at", volume))?;
        let is_formatted = file_system.is_some();
        let history = self.node.history();
        history.answered(self.node.os(), volume, is_formatted);
        Ok(is_formatted)
    }

    /// Formats a blank volume with NTFS, quickly, and waits until the filesystem is there. On a server's node
    /// ([`crate::Server::kept`]) under [`crate::FormatGuard::Signatures`] it also formats a volume with a
    /// filesystem that its owner released; under [`crate::FormatGuard::Off`] any volume. A call that waited while
    /// another one formatted the volume returns the result of that one, and formats nothing.
    ///
    /// # Errors
    /// The volume is neither blank nor released, its disk is never written, it is not one partition of one disk,
    /// it is no longer where it was found, or Windows refuses.
    pub fn format<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        deadline: Deadline,
    ) -> Result<Replaced, VolumeError> {
        self.format_noting(volume, deadline, &|_| {})
    }

    /// [`Volumes::format`], with a call of `begins` right before each call to Windows, on this thread. `begins`
    /// receives the content that the format replaces, which may be lost even if the format fails.
    ///
    /// # Errors
    /// As [`Volumes::format`].
    pub fn format_noting<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        deadline: Deadline,
        begins: &dyn Fn(&Replaced),
    ) -> Result<Replaced, VolumeError> {
        let named = volume.into();
        Formatting {
            node: self.node,
            volume: named.id(),
            named,
            options: &FormatOptions::default(),
            deadline,
            begins,
        }
        .run()
    }

    /// Ensures that a volume has the requested filesystem. A blank volume is formatted, quickly, and
    /// gets its access control list; a volume that an earlier call left half-done is finished. A volume
    /// that already has this filesystem is left as it is, whatever its allocation unit, label and list
    /// are: it may hold data, and its owner may have changed them. The call can be repeated after dying
    /// at any point.
    ///
    /// # Errors
    /// The volume has another filesystem ([`VolumeError::OtherFileSystem`]), is not blank, its disk is
    /// never written, it is not one partition of one disk, it is no longer where it was found, or
    /// Windows refuses.
    pub fn ensure_formatted<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted, VolumeError> {
        let named = volume.into();
        Formatting {
            node: self.node,
            volume: named.id(),
            named,
            options,
            deadline,
            begins: &|_| {},
        }
        .ensure()
    }

    /// Grows a volume, and reports what it did. Nothing shrinks. Growth of less than 1 MiB does nothing, as Windows
    /// refuses it; but a filesystem smaller than its partition is always extended. Sizes are rounded down to whole
    /// MiB.
    ///
    /// ReFS uses whole units of 64 MiB: smaller growth only reaches its partition.
    ///
    /// # Errors
    /// The disk has no room for the size, the disk is never written, the volume is not one partition of one disk, it
    /// is no longer where it was found, or Windows refuses.
    pub fn resize<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        size: NewSize,
        deadline: Deadline,
    ) -> Result<Resized, VolumeError> {
        self.resizing(volume.into(), LEAST_OF_WINDOWS, deadline)
            .run(size)
    }

    /// [`Volumes::resize`], but growth of less than 100 MiB does nothing, as in csi-proxy.
    ///
    /// # Errors
    /// As [`Volumes::resize`].
    pub fn resize_by_much<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        size: NewSize,
        deadline: Deadline,
    ) -> Result<Resized, VolumeError> {
        self.resizing(volume.into(), LEAST_OF_CSI_PROXY, deadline)
            .run(size)
    }

    /// Size and free space of the volume's filesystem, in bytes.
    ///
    /// # Errors
    /// There is no such volume, or it has no filesystem.
    pub fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space, VolumeError> {
        self.node.check(deadline, "look at volume", &volume)?;
        let space = self.node.os().volumes.space(volume);
        space.map_err(VolumeError::failed("look at", volume))
    }

    /// The disk that holds the volume.
    ///
    /// # Errors
    /// There is no such volume, or it is not one partition of one disk.
    pub fn disk_number(
        &self,
        volume: VolumeId,
        deadline: Deadline,
    ) -> Result<DiskNumber, VolumeError> {
        self.node.check(deadline, "look at volume", &volume)?;
        disk_of(self.node.os(), volume)
    }

    /// The volume that is mounted where a path leads by links and junctions.
    ///
    /// # Errors
    /// The path leads to no mounted folder.
    pub fn of_target(
        &self,
        path: impl Into<LookupPath>,
        deadline: Deadline,
    ) -> Result<VolumeId, VolumeError> {
        let path = path.into();
        let resolved = path.resolved();
        self.node.check(deadline, "look at", resolved.asked())?;
        Ok(target::mounted(self.node.os(), resolved)?)
    }

    /// The volume that holds the entry of this path, links followed.
    ///
    /// # Errors
    /// There is no such entry, or it is on no volume of this node.
    pub fn closest(
        &self,
        path: impl Into<LookupPath>,
        deadline: Deadline,
    ) -> Result<VolumeId, VolumeError> {
        let path = path.into();
        let resolved = path.resolved();
        self.node.check(deadline, "look at", resolved.asked())?;
        let fails = target::Missing::Fails;
        Ok(target::closest(self.node.os(), resolved, fails)?)
    }

    /// Writes everything cached for the volume to its disk.
    ///
    /// # Errors
    /// There is no such volume, or it cannot be written.
    pub fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<(), VolumeError> {
        self.node.check(deadline, "flush volume", &volume)?;
        let flushed = self.node.os().volumes.flush(volume);
        flushed.map_err(VolumeError::failed("flush", volume))
    }

    fn resizing<'v>(&self, named: NamedVolume<'v>, least: u64, deadline: Deadline) -> Resizing<'v>
    where
        'a: 'v,
    {
        Resizing {
            node: self.node,
            volume: named.id(),
            named,
            least,
            deadline,
        }
    }

    fn mounting(
        &self,
        operation: &'static str,
        named: NamedVolume<'_>,
        resolved: &ResolvedPath,
        deadline: Deadline,
        run: impl FnOnce(&Mounting<'_>) -> Result<(), VolumeError>,
    ) -> Result<(), VolumeError> {
        let volume = named.id();
        let keys = vec![Key::target(resolved), Key::Volume(volume)];
        let mut held = self.node.locks().take(operation, keys, deadline)?;
        named.require_where_it_is(self.node, &mut held, deadline)?;
        run(&Mounting {
            node: self.node,
            volume,
            resolved,
            deadline,
        })
    }
}
