//! Disks.

mod error;
pub(crate) mod guard;
pub(crate) mod identity;
mod lists;
mod partition;
mod state;

use std::collections::BTreeMap;

use formats::location::Location;
use os::Deadline;
use os::DiskNumber;

pub use self::error::DiskError;
pub use self::guard::Guarded;
pub use self::lists::DiskIds;
use self::partition::Partitioning;
use self::state::Switching;
use crate::Node;
use crate::locks::Held;
use crate::locks::Key;
use crate::storage;

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
    pub fn partition(&self, disk: DiskNumber, deadline: Deadline) -> Result<(), DiskError> {
        let _held = self.lock("partition disk", disk, deadline)?;
        let node = self.node;
        Partitioning {
            node,
            disk,
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

    /// Brings the disk online, and clears its read-only attribute before. A disk that is online is
    /// left as it is.
    ///
    /// # Errors
    /// There is no such disk, it is one that is never written, or Windows refuses.
    pub fn set_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<(), DiskError> {
        let _held = self.lock("online disk", disk, deadline)?;
        self.switching(disk, deadline).online()
    }

    /// Takes the disk offline. A disk that is offline is left as it is.
    ///
    /// # Errors
    /// There is no such disk, it is one that is never written, or Windows refuses.
    pub fn set_offline(&self, disk: DiskNumber, deadline: Deadline) -> Result<(), DiskError> {
        let _held = self.lock("offline disk", disk, deadline)?;
        self.switching(disk, deadline).offline()
    }

    fn switching(&self, disk: DiskNumber, deadline: Deadline) -> Switching<'a> {
        Switching {
            node: self.node,
            disk,
            deadline,
        }
    }

    fn lock(
        &self,
        operation: &'static str,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<Held, DiskError> {
        let keys = vec![Key::Disk(disk)];
        Ok(self.node.locks().take(operation, keys, deadline)?)
    }
}
