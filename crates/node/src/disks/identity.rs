//! Whether kernel and storage provider mean the same disk by a number.
//!
//! The provider answers from a cache. After a disk was pulled out and another took its number, its
//! object of that number is still the first one's, and what it writes goes there.

use os::Deadline;
use os::DiskNumber;

use super::DiskError;
use crate::Node;
use crate::storage;

/// The provider's disk of this number, which is the kernel's; looks once more after a rescan when it
/// is another.
///
/// # Errors
/// There is none; [`DiskError::ViewsDiffer`] when it stays another.
pub(crate) fn find(
    node: &Node,
    number: DiskNumber,
    deadline: Deadline,
) -> Result<storage::Disk, DiskError> {
    let disk = storage::Disk::find(node, number, deadline)?;
    if require_same(node, &disk).is_ok() {
        return Ok(disk);
    }
    let updated = node.os().disks.update_properties(number);
    updated.map_err(DiskError::kernel(number))?;
    storage::rescan(node)?;
    let disk = storage::Disk::find(node, number, deadline)?;
    require_same(node, &disk)?;
    Ok(disk)
}

/// What of a disk both views tell.
struct Face {
    length: u64,
    serial: Option<String>,
}

impl Face {
    fn of_kernel(node: &Node, disk: &storage::Disk) -> Result<Self, DiskError> {
        let disks = &node.os().disks;
        let failed = DiskError::kernel(disk.number);
        let descriptor = disks.descriptor(disk.number).map_err(&failed)?;
        Ok(Self {
            length: disks.length(disk.number).map_err(&failed)?,
            serial: known(descriptor.serial.as_deref()),
        })
    }

    fn of_provider(disk: &storage::Disk) -> Self {
        Self {
            length: disk.size,
            serial: known(disk.serial.as_deref()),
        }
    }

    /// A serial number that one of them lacks says nothing.
    fn agrees(&self, other: &Self) -> bool {
        let serials = self.serial.as_ref().zip(other.serial.as_ref());
        self.length == other.length && serials.is_none_or(|(ours, theirs)| ours == theirs)
    }

    fn describe(&self) -> String {
        let serial = self.serial.as_deref().unwrap_or("none");
        format!("{} bytes with serial number {serial}", self.length)
    }
}

/// Refuses a disk of which the provider has another in mind than the kernel.
///
/// # Errors
/// [`DiskError::ViewsDiffer`]; the kernel does not answer.
pub(super) fn require_same(node: &Node, disk: &storage::Disk) -> Result<(), DiskError> {
    let kernel = Face::of_kernel(node, disk)?;
    let provider = Face::of_provider(disk);
    if kernel.agrees(&provider) {
        return Ok(());
    }
    Err(DiskError::ViewsDiffer {
        disk: disk.number,
        kernel: kernel.describe(),
        provider: provider.describe(),
    })
}

/// A serial number without what pads it; none for one of padding alone.
pub(super) fn known(serial: Option<&str>) -> Option<String> {
    let serial = serial?.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!serial.is_empty()).then(|| serial.to_owned())
}
