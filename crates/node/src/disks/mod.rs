//! Disks.

mod error;
mod find;
pub(crate) mod guard;
pub(crate) mod identity;
mod lists;
mod offline;
mod paging;
mod partition;
mod read_only;
mod state;
mod verdict;

use std::collections::BTreeMap;

use formats::location::Location;
use os::{Deadline, DiskNumber, WinPath};

pub use self::error::{DiskError, Obstacle};
pub use self::find::{
    Criterion, DiskQuery, Excluded, FoundDisk, Named, NamespaceConvention, NotEnough,
    NotIdentified, Page83, RecordError, SeenDisk, SerialNumber, TrivialName,
};
pub use self::guard::Guarded;
pub use self::lists::DiskIds;
use self::offline::TakingOffline;
pub(crate) use self::paging::PagingReads;
pub use self::paging::PagingUnknown;
use self::partition::Partitioning;
use self::read_only::BringingReadOnly;
use self::state::Switching;
pub use self::verdict::Verdict;
use crate::locks::Key;
use crate::{Node, storage};

/// The operations on the disks of a [`Node`].
pub struct Disks<'a> {
    node: &'a Node,
}

impl<'a> Disks<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// The location of each disk. A disk without a usable location is left out, as in csi-proxy.
    /// The list only reports: it includes disks that are never written.
    ///
    /// # Errors
    /// The storage provider does not answer.
    pub fn locations(
        &self,
        deadline: Deadline,
    ) -> Result<BTreeMap<DiskNumber, Location>, DiskError> {
        lists::locations(self.node, deadline)
    }

    /// The identifiers of each disk. A disk that does not answer is left out and logged. The list
    /// only reports: it includes disks that are never written.
    ///
    /// # Errors
    /// The storage provider does not answer.
    pub fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>, DiskError> {
        lists::ids(self.node, deadline)
    }

    /// The one disk with this page 0x83 identifier, exactly as [`Disks::ids`] spells it. Disks that
    /// are never written are no candidates; one that does not answer is passed over and logged.
    ///
    /// # Errors
    /// No disk has the identifier, or several have.
    pub fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber, DiskError> {
        lists::by_page83(self.node, page83, deadline)
    }

    /// The one disk that meets all of the query. Disks that are never written are no candidates, and neither are
    /// disks that do not report for certain what they are: one dead disk must not keep all others from being found.
    /// A new disk is found after a [`Disks::rescan`], or later.
    ///
    /// The search may change one thing: Windows's storage provider may hide a read-only clone beside its original
    /// until the read-only attribute is cleared. The attribute is cleared if the query has a page 0x83 identifier
    /// that no other disk has, and partition table and node exclude the other disks that the provider hides (of a
    /// cluster or a pool, dynamic). The clone is found if the provider lists it then
    /// (<https://github.com/kubernetes-csi/csi-proxy/issues/287>).
    ///
    /// # Errors
    /// No disk matches, or several match.
    pub fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk, DiskError> {
        self.node.check(deadline, "find", wanted)?;
        find::find(self.node, wanted, deadline)
    }

    /// The disk of the volume that is mounted where a path leads by links and junctions, by all its names and its
    /// place: for a caller that unstages a volume without a record of its disk. The result stays valid after the
    /// volume is unmounted. The caller must trust the path.
    ///
    /// # Errors
    /// The path leads to no mounted folder by the rules of [`crate::Volumes::of_target`]: the disk that holds a plain
    /// directory is never found. The volume is not on one disk, the disk is never written, it reports too little
    /// about itself ([`DiskError::Untold`]), another reports the same, or it was replaced meanwhile.
    pub fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk, DiskError> {
        self.node.check(deadline, "find the disk at", path)?;
        find::find_at(self.node, path, deadline)
    }

    /// The guard's verdict on each disk. A disk that hangs is waited for ten seconds, as in other lists.
    ///
    /// # Errors
    /// The storage provider does not answer, or the deadline passed.
    pub fn verdicts(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Verdict>, DiskError> {
        verdict::all(self.node, deadline)
    }

    /// Makes Windows look for disks that came, went or grew.
    ///
    /// # Errors
    /// The storage provider does not answer, or refuses.
    pub fn rescan(&self, deadline: Deadline) -> Result<(), DiskError> {
        self.node.check(deadline, "rescan", &"the host's storage")?;
        Ok(storage::rescan(self.node)?)
    }

    /// Ensures that the disk has a partition table and a partition with a volume. A raw disk becomes
    /// a GPT disk; a GPT disk with only the reserved partition gets one basic data partition. A disk
    /// with any other partition stays as it is.
    ///
    /// On an online disk the call waits until the volumes are visible; on an offline one it does not.
    ///
    /// # Errors
    /// There is no such disk, it is never written, it is not blank, Windows refuses (an offline or
    /// read-only disk), or its volume does not appear.
    pub fn partition<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        let named = disk.into();
        let disk = named.number();
        let keys = vec![Key::Disk(disk)];
        let _held = self.node.locks().take("partition disk", keys, deadline)?;
        Partitioning {
            node: self.node,
            disk,
            named,
            deadline,
        }
        .run()
    }

    /// The length of the whole disk in bytes.
    ///
    /// # Errors
    /// There is no such disk, or it has no media.
    pub fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        let length = self.node.os().disks.length(disk);
        length.map_err(DiskError::kernel(disk))
    }

    /// Whether the disk is online.
    ///
    /// # Errors
    /// There is no such disk.
    pub fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        let attributes = self.node.os().disks.attributes(disk);
        Ok(!attributes.map_err(DiskError::kernel(disk))?.offline)
    }

    /// Whether the disk has the read-only attribute.
    ///
    /// # Errors
    /// There is no such disk.
    pub fn is_read_only(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        let attributes = self.node.os().disks.attributes(disk);
        Ok(attributes.map_err(DiskError::kernel(disk))?.read_only)
    }

    /// Whether the device itself refuses writes, regardless of the disk's read-only attribute. The answer of a
    /// writable device while that attribute is set is unknown, so call this while [`Disks::is_read_only`] is false.
    ///
    /// # Errors
    /// There is no such disk, or the device does not report it.
    pub fn is_write_protected(
        &self,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        let protected = self.node.os().disks.is_write_protected(disk);
        protected.map_err(DiskError::kernel(disk))
    }

    /// Brings the disk online and makes it writable. Only both together are success: after a failure the next
    /// call goes on. A disk that is both is left as it is.
    ///
    /// csi-proxy's call leaves the disk read-only (<https://github.com/kubernetes-csi/csi-proxy/issues/437>).
    ///
    /// # Errors
    /// There is no such disk, it is never written, or Windows refuses; [`DiskError::StaysOffline`],
    /// [`DiskError::StaysReadOnly`].
    pub fn set_online<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        self.switch("online disk", disk.into(), deadline, Switching::online)
    }

    /// As [`Disks::set_online`], and checks the disk also when it is online and writable: staging needs this.
    ///
    /// Read-only is cleared first: Windows writes a new signature to a clone whose original is online only if
    /// the clone is writable (<https://github.com/kubernetes-csi/csi-proxy/issues/287>,
    /// <https://github.com/hpe-storage/common-host-libs/pull/40>).
    ///
    /// # Errors
    /// As [`Disks::set_online`].
    pub fn bring_online<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        let act = Switching::online_and_writable;
        self.switch("online disk", disk.into(), deadline, act)
    }

    /// Brings the disk online read-only: neither pods nor Windows write to it. A disk that is online and read-only is
    /// left as it is. [`Disks::bring_online`] makes it writable again.
    ///
    /// The disk is made read-only before it comes online, and checked afterwards. A disk that is online and writable
    /// goes offline first, but only if no volume of it has an access path and all can be locked within ten seconds. By
    /// its page the attribute outlives a restart
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes>), which nobody has
    /// seen; a driver calls this again after one.
    ///
    /// Windows refuses a clone beside its original, as it would have to write another signature to the clone
    /// (<https://github.com/hpe-storage/common-host-libs/pull/40>). A clone that [`Disks::find`] made writable, so
    /// that the provider lists it, becomes read-only again, and was offline all the time.
    ///
    /// # Errors
    /// [`DiskError::OnlineWritable`], with nothing changed; [`DiskError::StaysWritable`], with the disk offline;
    /// [`DiskError::StaysOffline`]. A disk that was online, and does not become read-only while it is offline, is
    /// brought online again, writable as before, whatever the code. The disk is no longer the one that was found
    /// ([`DiskError::NotTheFound`]), it is never written, its volumes cannot be determined, or Windows refuses.
    pub fn bring_online_read_only(
        &self,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        BringingReadOnly::of(self.node, disk, deadline).run()
    }

    /// Takes the disk offline. A disk that is offline is left as it is.
    ///
    /// # Errors
    /// There is no such disk, it is one that is never written, or Windows refuses.
    pub fn set_offline<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        self.switch(offline::NAME, disk.into(), deadline, Switching::offline)
    }

    /// Takes a disk offline when nothing on it is in use: the last step of unstaging. Every volume on the disk, of any
    /// partition, is first flushed, locked and dismounted
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume>). It stays locked until
    /// the disk is offline, so that nothing is opened in between. A disk that is offline is left as it is.
    ///
    /// A volume with an access path (a drive letter or a mounted folder) is in use, even with nothing open on it.
    ///
    /// The call waits up to ten seconds for a volume on which a process has something open. After that it fails,
    /// having only flushed: it dismounts no volume without its lock, and cannot be forced, as a process with an open
    /// file would lose unwritten data. [`Disks::set_offline`] is csi-proxy's call, which checks no use.
    ///
    /// # Errors
    /// [`DiskError::Mounted`]; [`VolumeError::InUse`] in [`DiskError::Volume`]; [`DiskError::InUse`] if Windows
    /// refuses: the volumes are dismounted by then, and mounted again at the next open. The disk is no longer the one
    /// that was found ([`DiskError::NotTheFound`]), it is never written, its cache cannot be written, its volumes
    /// cannot be determined, or Windows refuses.
    ///
    /// [`VolumeError::InUse`]: crate::VolumeError::InUse
    pub fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<(), DiskError> {
        TakingOffline {
            node: self.node,
            found: disk,
            deadline,
        }
        .run()
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
        let keys = vec![Key::Disk(named.number())];
        let _held = self.node.locks().take(operation, keys, deadline)?;
        act(&Switching::of(self.node, named, deadline))
    }
}
