//! Disks.

mod content;
mod error;
mod find;
pub(crate) mod guard;
pub(crate) mod identity;
mod lists;
mod offline;
mod offline_reason;
mod paging;
mod partition;
mod read_only;
mod state;
mod verdict;

use os::{Deadline, DiskAttributes, DiskNumber, DriveLayout, WinPath};

pub use self::error::{DiskError, Obstacle};
pub use self::find::{
    Criterion, DiskQuery, Excluded, FoundDisk, Named, NamespaceConvention, NotEnough,
    NotIdentified, Page83, RecordError, SeenDisk, SerialNumber, TrivialName,
};
pub use self::guard::Guarded;
pub use self::lists::DiskIds;
pub use self::offline_reason::OfflineReason;
pub(crate) use self::paging::PagingReads;
pub use self::paging::PagingUnknown;
use self::partition::Partitioning;
use self::state::Switching;
pub use self::verdict::Verdict;
use crate::locks::Key;
use crate::{Disks, Node, storage};

#[allow(missing_docs, reason = "documented in `api::Disks`")]
impl<'a> Disks<'a> {
    pub fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk, DiskError> {
        self.node.check(deadline, "find", wanted)?;
        find::find(self.node, wanted, deadline)
    }

    pub fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk, DiskError> {
        self.node.check(deadline, "find the disk at", path)?;
        find::find_at(self.node, path, deadline)
    }

    pub fn rescan(&self, deadline: Deadline) -> Result<(), DiskError> {
        self.node.check(deadline, "rescan", &"the host's storage")?;
        Ok(storage::rescan(self.node)?)
    }

    pub fn partition<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        let named = disk.into();
        let disk = named.number();
        let keys = [Key::Disk(disk)];
        let _held = self.node.lock("partition disk", keys, deadline)?;
        Partitioning {
            node: self.node,
            disk,
            named,
            deadline,
        }
        .run()
    }

    pub fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        self.node.disk_length(disk)
    }

    pub fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        Ok(!self.node.disk_attributes(disk)?.offline)
    }

    pub fn offline_reason(
        &self,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<Option<OfflineReason>, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        Ok(OfflineReason::reported(self.node, disk, deadline)?)
    }

    pub fn is_read_only(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        Ok(self.node.disk_attributes(disk)?.read_only)
    }

    pub fn is_write_protected(
        &self,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        let protected = self.node.os().disks.is_write_protected(disk);
        protected.map_err(DiskError::kernel(disk))
    }

    /// csi-proxy's call: a disk that is online and writable is left as it is, without a check. The Go proxy's leaves
    /// the disk read-only (<https://github.com/kubernetes-csi/csi-proxy/issues/437>).
    pub fn set_online<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        self.switch("online disk", disk.into(), deadline, Switching::online)
    }

    pub fn bring_online<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        let act = Switching::online_and_writable;
        self.switch("online disk", disk.into(), deadline, act)
    }

    /// csi-proxy's call, which checks no use. A disk that is offline is left as it is.
    pub fn set_offline<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        self.switch(offline::NAME, disk.into(), deadline, Switching::offline)
    }

    /// Runs `change` on the disk under its lock.
    fn switch<'d>(
        &self,
        operation: &'static str,
        named: Named<'d>,
        deadline: Deadline,
        act: impl FnOnce(&Switching<'d>) -> Result<(), DiskError>,
    ) -> Result<(), DiskError>
    where
        'a: 'd,
    {
        let keys = [Key::Disk(named.number())];
        let _held = self.node.lock(operation, keys, deadline)?;
        act(&Switching::of(self.node, named, deadline))
    }
}

/// What the kernel tells of a disk.
impl Node {
    pub(crate) fn disk_attributes(&self, disk: DiskNumber) -> Result<DiskAttributes, DiskError> {
        let attributes = self.os().disks.attributes(disk);
        attributes.map_err(DiskError::kernel(disk))
    }

    pub(crate) fn disk_layout(&self, disk: DiskNumber) -> Result<DriveLayout, DiskError> {
        let layout = self.os().disks.layout(disk);
        layout.map_err(DiskError::kernel(disk))
    }

    /// In bytes.
    pub(crate) fn disk_length(&self, disk: DiskNumber) -> Result<u64, DiskError> {
        let length = self.os().disks.length(disk);
        length.map_err(DiskError::kernel(disk))
    }
}
