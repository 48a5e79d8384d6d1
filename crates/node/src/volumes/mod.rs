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

use os::{Deadline, DiskNumber, FileSystem, Os, PartitionNumber, Space, VolumeId, WinPath};

pub use self::error::VolumeError;
use self::format::Formatting;
pub(crate) use self::format::may_have;
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
use crate::{FoundDisk, LookupPath, Named, ResolvedPath, Volumes};

#[allow(missing_docs, reason = "documented in `api::Volumes`")]
impl<'a> Volumes<'a> {
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

    pub fn find_on(
        &self,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<FoundVolume, VolumeError> {
        let volume = self.sole_on_disk(disk.number(), deadline)?;
        Named::from(disk).require(self.node, deadline)?;
        Ok(FoundVolume::on_disk(volume, disk.clone()))
    }

    pub fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume, VolumeError> {
        let volume = self.of_target(path, deadline)?;
        Ok(FoundVolume::mounted_at(volume, path.clone()))
    }

    /// csi-proxy's call: a mounted folder whose volume is gone stays, and is an error.
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

    pub fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool, VolumeError> {
        self.node.check(deadline, "look at volume", &volume)?;
        let is_formatted = file_system(self.node.os(), volume)?.is_some();
        let history = &self.node.state.history;
        history.answered(self.node.os(), volume, is_formatted);
        Ok(is_formatted)
    }

    /// On a server's node ([`crate::Server::kept`]) under [`crate::FormatGuard::Signatures`] it also formats a volume
    /// with a filesystem that its owner released; under [`crate::FormatGuard::Off`] any volume.
    pub fn format<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        deadline: Deadline,
    ) -> Result<Replaced, VolumeError> {
        self.format_noting(volume, deadline, &|_| {})
    }

    /// [`Volumes::format`], with a call of `begins` right before each call to Windows, on this thread. `begins`
    /// receives the content that the format replaces, which may be lost even if the format fails.
    pub fn format_noting<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        deadline: Deadline,
        begins: &dyn Fn(&Replaced),
    ) -> Result<Replaced, VolumeError> {
        let (named, options) = (volume.into(), FormatOptions::default());
        let call = self.node.state.history.begin(named.id());
        let formatting = Formatting::take(self.node, named, &options, deadline, begins)?;
        match call.published(&()) {
            Some(outcome) => outcome.map(|()| Replaced::Nothing),
            None => formatting.run(),
        }
    }

    pub fn ensure_formatted<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted, VolumeError> {
        Formatting::take(self.node, volume.into(), options, deadline, &|_| {})?.ensure()
    }

    pub fn resize<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        size: NewSize,
        deadline: Deadline,
    ) -> Result<Resized, VolumeError> {
        Resizing::take(self.node, volume.into(), LEAST_OF_WINDOWS, deadline)?.run(size)
    }

    /// [`Volumes::resize`], but growth of less than 100 MiB does nothing, as in csi-proxy.
    pub fn resize_by_much<'v>(
        &self,
        volume: impl Into<NamedVolume<'v>>,
        size: NewSize,
        deadline: Deadline,
    ) -> Result<Resized, VolumeError> {
        Resizing::take(self.node, volume.into(), LEAST_OF_CSI_PROXY, deadline)?.run(size)
    }

    pub fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space, VolumeError> {
        self.node.check(deadline, "look at volume", &volume)?;
        let space = self.node.os().volumes.space(volume);
        space.map_err(VolumeError::failed("look at", volume))
    }

    pub fn disk_number(
        &self,
        volume: VolumeId,
        deadline: Deadline,
    ) -> Result<DiskNumber, VolumeError> {
        self.node.check(deadline, "look at volume", &volume)?;
        disk_of(self.node.os(), volume)
    }

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

    pub fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<(), VolumeError> {
        self.node.check(deadline, "flush volume", &volume)?;
        let flushed = self.node.os().volumes.flush(volume);
        flushed.map_err(VolumeError::failed("flush", volume))
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
        let keys = [Key::target(resolved), Key::Volume(volume)];
        let mut held = self.node.lock(operation, keys, deadline)?;
        named.require_where_it_is(self.node, &mut held, deadline)?;
        run(&Mounting {
            node: self.node,
            volume,
            resolved,
            deadline,
        })
    }
}

/// The filesystem that Windows has mounted.
fn file_system(os: &Os, volume: VolumeId) -> Result<Option<FileSystem>, VolumeError> {
    let found = os.volumes.file_system(volume);
    found.map_err(VolumeError::failed("look at", volume))
}
