//! What a search proves, and the cheap check that it still holds.
//!
//! A search reads the kernel's answers by the path of the storage provider's object, with one handle. So both are of one
//! device. Before each change one handle at the same path reads them again. Equal answers are the same disk at the same
//! place: a search that finds the provider's location at another SCSI address than the kernel's proves nothing. The kernel
//! knows of no PCI slot. Any other answer, or none, decides nothing: then the provider is asked, as without a proof.
//!
//! Of the guard's facts, the provider alone has the marks of a disk. Those of the boot and the system disk are set when
//! Windows starts, which no proof outlives. A disk may join a cluster at any time, but on no node without the cluster
//! service. All other facts are read at each change.

use std::sync::Arc;

use formats::location::Location;
use os::{Deadline, DiskFacts, DiskNumber, ScsiAddress};

use super::query::{Criterion, DiskQuery};
use super::seen::{FoundDisk, SeenDisk};
use crate::disks::identity::serial::Serial;
use crate::disks::{guard, identity, lists};
use crate::in_flight::Object;
use crate::{DiskError, Node, storage};

/// The kernel's answers about a disk of the storage provider.
pub(in crate::disks) struct Kernel {
    pub(in crate::disks) facts: DiskFacts,
    /// Whether they are of the device that the provider's path opens.
    pub(in crate::disks) is_by_path: bool,
}

/// The provider's object and the kernel's answers that a search compared.
#[derive(Debug)]
pub(super) struct Proof {
    disk: storage::Disk,
    facts: DiskFacts,
}

impl Kernel {
    /// Asks by the provider's path, and by the number where that does not lead to the disk of the number.
    pub(super) fn ask(node: &Node, disk: &storage::Disk) -> Self {
        match facts(node, disk) {
            Some(facts) => Self {
                facts,
                is_by_path: true,
            },
            None => Self {
                facts: facts_by_number(node, disk.number),
                is_by_path: false,
            },
        }
    }

    /// As [`identity::require_same`].
    pub(super) fn require_same(&self, node: &Node, disk: &storage::Disk) -> Result<(), DiskError> {
        match self.is_by_path {
            true => Ok(()),
            false => identity::require_same(node, disk),
        }
    }

    pub(in crate::disks) fn serial(&self) -> Option<Serial> {
        Serial::of_device(self.facts.descriptor.as_ref().ok()?)
    }

    /// The proof of a disk that was found; `None` if the kernel tells too little of it.
    pub(super) fn proof(
        self,
        disk: storage::Disk,
        location: Option<&Location>,
        wanted: &DiskQuery,
    ) -> Option<Arc<Proof>> {
        let facts = &self.facts;
        let page = lists::read_page(facts.number, facts.device_id_page.clone()).ok()?;
        let address = facts.scsi_address.as_ref().ok()?;
        let is_there = location.is_none_or(|location| is_at(location, *address));
        let has_names = SeenDisk::numbered(facts.number).named(&page).has_names();
        let is_named = has_names || self.serial().is_some();
        let is_reported = facts.length.is_ok() && facts.descriptor.is_ok();
        let is_enough = self.is_by_path && is_reported && is_named && is_there;
        let facts = self.facts;
        (is_enough && is_of_kernel(wanted)).then(|| Arc::new(Proof { disk, facts }))
    }
}

impl FoundDisk {
    /// The storage provider's object of the disk, if the kernel alone shows that it is still the one that was found,
    /// and may be written as far as marks tell. To be called under the disk's lock.
    ///
    /// # Errors
    /// The deadline passed: no step begins.
    pub(in crate::disks) fn certain(
        &self,
        node: &Node,
        deadline: Deadline,
    ) -> Result<Option<&storage::Disk>, DiskError> {
        let Some(Proof { disk, facts: then }) = self.proof.as_deref() else {
            return Ok(None);
        };
        node.check(deadline, "look at", &Object::Disk(disk.number))?;
        let is_same = facts(node, disk).is_some_and(|now| now == *then);
        let is_certain = is_same && !guard::may_be_clustered(node, deadline);
        node.check(deadline, "look at", &Object::Disk(disk.number))?;
        Ok(is_certain.then_some(disk))
    }
}

/// Whether the provider's location is at the kernel's address: the provider may have that of a disk before. What it lacks,
/// it cannot have wrong.
fn is_at(location: &Location, address: ScsiAddress) -> bool {
    let parts = [
        (&location.adapter, address.port),
        (&location.port, address.path),
        (&location.target, address.target),
        (&location.lun, address.lun),
    ];
    let agrees = |part: &str, number: u8| part == number.to_string();
    parts
        .iter()
        .all(|(part, number)| part.as_deref().is_none_or(|part| agrees(part, *number)))
}

/// Whether the kernel knows all that was asked for: which session leads to a disk, the initiator alone knows, and the
/// adapter's PCI slot the provider.
fn is_of_kernel(wanted: &DiskQuery) -> bool {
    let mut criteria = wanted.criteria().iter();
    criteria.all(|criterion| {
        !matches!(
            criterion,
            Criterion::IscsiSession(_)
                | Criterion::IscsiTarget { .. }
                | Criterion::Bus(_)
                | Criterion::Device(_)
                | Criterion::Function(_)
        )
    })
}

/// The answers of the device that the path opens, if it has the disk's number.
fn facts(node: &Node, disk: &storage::Disk) -> Option<DiskFacts> {
    let path = disk.device_path.as_deref()?;
    let object = Object::Disk(disk.number);
    let facts = node.in_flight().at(&object, || node.os().disks.facts(path));
    facts.ok().filter(|facts| facts.number == disk.number)
}

fn facts_by_number(node: &Node, number: DiskNumber) -> DiskFacts {
    let disks = &node.os().disks;
    DiskFacts {
        number,
        descriptor: disks.descriptor(number),
        device_id_page: disks.device_id_page(number),
        length: disks.length(number),
        scsi_address: disks.scsi_address(number),
    }
}
