//! Finding the disk that a driver means, among all disks of a node.
//!
//! A [`DiskQuery`] is a conjunction of known properties. Zero and several matches are an error that
//! lists the disks seen. Drivers that took the first disk of a LUN mounted a scratch disk
//! (<https://github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2661>), and all disks of some
//! hypervisors have the serial number 0 (<https://github.com/harvester/harvester/issues/5697>).
//!
//! The result is a [`FoundDisk`]. Every change of the disk looks at it once more, under its lock: the
//! number may have gone to another disk since.
//!
//! # How a disk is told
//! - The disk must match all that is asked for. Zero or several matches are an error that names every disk that was seen.
//!   So is one match beside a disk that does not answer and that nothing known excludes.
//! - A LUN identifies a disk only together with its adapter, its iSCSI target or a name. An iSCSI target identifies one only
//!   together with the LUN or a name; the initiator reports the disks behind a target, at both looks.
//! - Without page 0x83, the provider's identifier can exclude a disk but never select one. The same holds for the
//!   provider's serial number where the kernel reports none: another disk in the same slot has the same path.
//! - A driver that lost its record builds the query from the disk behind its mounted folder ([`find_at`]).
//! - A clone that the provider leaves out until it is writable is made so first ([`hidden`]).

mod hidden;
mod name;
mod observe;
mod proof;
mod query;
mod record;
mod seen;

use os::{Deadline, DiskNumber};

pub use self::name::{Page83, SerialNumber, TrivialName};
pub(super) use self::observe::{find, find_at};
pub(super) use self::proof::Kernel;
pub use self::query::{Criterion, DiskQuery, NamespaceConvention, NotEnough};
pub use self::record::RecordError;
pub use self::seen::{Excluded, FoundDisk, NotIdentified, SeenDisk};
use super::identity;
use crate::{DiskError, Node, storage};

/// How the caller named the disk that is to be changed.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    /// By a search result, which is proved again right before the change.
    Found(&'a FoundDisk),
    /// By a number, as csi-proxy's clients do: the disk that has it when the lock is held.
    Number(DiskNumber),
}

impl Named<'_> {
    pub(super) fn number(&self) -> DiskNumber {
        match self {
            Self::Found(disk) => disk.number(),
            Self::Number(number) => *number,
        }
    }

    /// The storage provider's object of the disk, which is the one that was found.
    pub(crate) fn object(
        &self,
        node: &Node,
        deadline: Deadline,
    ) -> Result<storage::Disk, DiskError> {
        if let Some(disk) = self.certain(node, deadline)? {
            return Ok(disk.clone());
        }
        let disk = identity::find(node, self.number(), deadline)?;
        self.require_by_provider(node, deadline)?;
        Ok(disk)
    }

    /// Fails if the disk is not the one that was found.
    pub(crate) fn require(&self, node: &Node, deadline: Deadline) -> Result<(), DiskError> {
        match self.certain(node, deadline)? {
            Some(_) => Ok(()),
            None => self.require_by_provider(node, deadline),
        }
    }

    /// Fails if the disk is not the one that was found, or the provider's object means another. To be called right
    /// before a method of the object.
    pub(crate) fn require_same(
        &self,
        node: &Node,
        disk: &storage::Disk,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        if self.is_certainly(node, disk, deadline)? {
            return Ok(());
        }
        self.require_by_provider(node, deadline)?;
        // Last: of the object that is acted on.
        identity::require_same(node, disk)
    }

    /// Whether the kernel alone shows that the object is the found disk's.
    pub(super) fn is_certainly(
        &self,
        node: &Node,
        disk: &storage::Disk,
        deadline: Deadline,
    ) -> Result<bool, DiskError> {
        let certain = self.certain(node, deadline)?;
        Ok(certain.is_some_and(|it| it.is_same_object(disk)))
    }

    pub(super) fn certain(
        &self,
        node: &Node,
        deadline: Deadline,
    ) -> Result<Option<&storage::Disk>, DiskError> {
        match self {
            Self::Found(disk) => disk.certain(node, deadline),
            Self::Number(_) => Ok(None),
        }
    }

    /// As [`Self::require`], by a query of the provider.
    pub(super) fn require_by_provider(
        &self,
        node: &Node,
        deadline: Deadline,
    ) -> Result<(), DiskError> {
        match self {
            Self::Found(disk) => observe::require(node, disk, deadline),
            Self::Number(_) => Ok(()),
        }
    }
}

impl<'a> From<&'a FoundDisk> for Named<'a> {
    fn from(disk: &'a FoundDisk) -> Self {
        Self::Found(disk)
    }
}

impl From<DiskNumber> for Named<'_> {
    fn from(number: DiskNumber) -> Self {
        Self::Number(number)
    }
}
