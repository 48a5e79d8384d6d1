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

    /// Where each disk is plugged in; a disk whose location says nothing usable is left out, as
    /// csi-proxy does. The list only reports: it shows disks that are never written, too.
    ///
    /// # Errors
    /// The storage provider does not answer.
    pub fn locations(
        &self,
        deadline: Deadline,
    ) -> Result<BTreeMap<DiskNumber, Location>, DiskError> {
        lists::locations(self.node, deadline)
    }

    /// By what each disk is told from the others. A disk that does not answer is left out and
    /// logged. The list only reports: it shows disks that are never written, too.
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
    /// There is none, or there are several.
    pub fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber, DiskError> {
        lists::by_page83(self.node, page83, deadline)
    }

    /// The one disk that all of this is true of. Disks that are never written leave the candidates first,
    /// and so do such as do not say for certain what they are: one dead disk must not keep all others from
    /// being found. A disk that has just come is found after a [`Disks::rescan`],
    /// or later.
    ///
    /// One thing is changed: Windows's storage provider may leave a clone out that is read-only beside its
    /// original, until that is cleared. If it is asked for by a page 0x83 identifier that no other disk has, and
    /// shows by its partition table and the node that it is nothing else that the provider leaves out (a disk of a
    /// cluster or a pool, a dynamic one), its read-only attribute is cleared, and it is found if the provider lists
    /// it then (<https://github.com/kubernetes-csi/csi-proxy/issues/287>).
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk, DiskError> {
        self.node.check(deadline, "find", wanted)?;
        find::find(self.node, wanted, deadline)
    }

    /// The disk of the volume that is mounted where a path leads to by links and junctions, by all that it tells of
    /// its names and its place: for who unstages a volume and has no record of its disk. What is found is the disk
    /// still when nothing is mounted there any more. The path is one that the caller answers for.
    ///
    /// # Errors
    /// The path leads to no mounted folder, as [`crate::Volumes::of_target`] tells it: the disk that holds a plain
    /// directory is never found. The volume is not on one disk, the disk is one that is never written, it
    /// does not tell enough of itself ([`DiskError::Untold`]) or another tells the same, or it was another meanwhile.
    pub fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk, DiskError> {
        self.node.check(deadline, "find the disk at", path)?;
        find::find_at(self.node, path, deadline)
    }

    /// What the guard decides of each disk. A disk that hangs is waited for ten seconds, as in other lists.
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

    /// Sees to it that the disk has a partition with a volume: a raw disk becomes a GPT disk, a GPT
    /// disk with nothing but the reserved partition gets one basic data partition. On a disk with any
    /// other partition nothing is done.
    ///
    /// On an online disk it waits until the volumes are visible; on an offline one never.
    ///
    /// # Errors
    /// There is no such disk, it is one that is never written, it is not blank, Windows refuses (an
    /// offline or read-only disk), or its volume does not appear.
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

    /// Whether the device itself refuses writes, whatever the read-only attribute of the disk is. What a writable device
    /// answers while that attribute is set is not known, so ask while [`Disks::is_read_only`] is false.
    ///
    /// # Errors
    /// There is no such disk, or the device does not say.
    pub fn is_write_protected(
        &self,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<bool, DiskError> {
        self.node.check(deadline, "look at disk", &disk)?;
        let protected = self.node.os().disks.is_write_protected(disk);
        protected.map_err(DiskError::kernel(disk))
    }

    /// Brings the disk online and makes it writable, whichever of the two is missing. One of them alone is no
    /// success: the next call goes on. A disk that is both is left as it is.
    ///
    /// csi-proxy's call leaves the disk read-only
    /// (<https://github.com/kubernetes-csi/csi-proxy/issues/437>).
    ///
    /// # Errors
    /// There is no such disk, it is one that is never written, or Windows refuses;
    /// [`DiskError::StaysOffline`], [`DiskError::StaysReadOnly`].
    pub fn set_online<'d>(
        &self,
        disk: impl Into<Named<'d>>,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        self.switch("online disk", disk.into(), deadline, Switching::online)
    }

    /// As [`Disks::set_online`], and makes sure of the disk also when it is online and writable: this is what a
    /// disk needs to be staged.
    ///
    /// Read-only is cleared first: Windows gives a clone, of which it has the original online, a signature
    /// of its own only if it may write it
    /// (<https://github.com/kubernetes-csi/csi-proxy/issues/287>,
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

    /// Brings the disk online for readers alone: no pod, and Windows neither, writes to it. A disk that is online and
    /// read-only is left as it is. [`Disks::bring_online`] makes it writable again.
    ///
    /// It is made read-only before it comes online, and looked at after. One that is online and writable goes offline
    /// first; but only if no volume of it has an access path, and all can be locked, for which ten seconds are
    /// waited. By its page the attribute outlives a restart
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes>), which nobody has seen;
    /// a driver calls this again after one.
    ///
    /// Windows refuses a clone beside its original, to which it would have to write another signature
    /// (<https://github.com/hpe-storage/common-host-libs/pull/40>). One that [`Disks::find`] made writable, so that it
    /// is listed, is read-only again then, and was offline all the time.
    ///
    /// # Errors
    /// [`DiskError::OnlineWritable`], with nothing changed; [`DiskError::StaysWritable`], then it is offline, and
    /// [`DiskError::StaysOffline`]; a disk that was online, and does not become read-only while it is offline, is
    /// brought online again, writable as it was, whatever the code. It is not the disk that was found any more
    /// ([`DiskError::NotTheFound`]), it is one that is never written, its volumes cannot be told for certain, or Windows
    /// refuses.
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

    /// Takes a disk offline when nothing on it is in use any more: the last step of unstaging. Every volume on
    /// it, whichever partition it is of, is flushed, locked and dismounted before
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume>), and stays
    /// locked until the disk is offline, so that nothing is opened in between. A disk that is offline is left as it is.
    ///
    /// A volume that has an access path, a drive letter or a mounted folder, is in use, whatever is open on it.
    ///
    /// A volume on which somebody has something open is waited for, up to ten seconds. If it stays so, what is
    /// cached has been written, and nothing else was done: no volume is dismounted that is not locked, and
    /// there is no way to ask for it, as a process with an open file would lose what it has not written.
    /// [`Disks::set_offline`] is what csi-proxy's call does, which asks nobody.
    ///
    /// # Errors
    /// [`DiskError::Mounted`]; [`VolumeError::InUse`] in [`DiskError::Volume`]; [`DiskError::InUse`] where Windows refuses, whose volumes
    /// are dismounted by then and mounted again when somebody opens one; it is not the disk that was found any more
    /// ([`DiskError::NotTheFound`]), it is one that is never written, what is cached cannot be written, its
    /// volumes cannot be told for certain, or Windows refuses.
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

    /// Does something to the disk under its lock.
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
