//! Whether kernel and storage provider mean the same disk by a number.
//!
//! The provider answers from a cache. After a disk was pulled out and another took its number, the
//! provider's object of that number still means the first disk, and writes go there.
//!
//! **With a path.** `MSFT_Disk.Path` opens the object's device, and the kernel reports the number that
//! the device has now. The same number means the same disk; another number, or no device at that path,
//! means another one. No text is compared. The object's other properties may lag (a disk that grew,
//! another disk in the same slot, which has the same path). The caller must handle that, as the
//! provider's writes go to the device all the same. If a path fails to open for another reason than a
//! missing device, nothing is proved and nothing is written.
//!
//! **Without a path**, or with one that no device ever had. The class requires a path, so this is for a provider that
//! violates the class, and may be strict: the lengths must be equal, and one name of the disk must agree. That name is
//! the unique id if the provider made it of page 0x83 and the kernel has the page, otherwise the serial number. A
//! missing property proves nothing: two disks of one length without names cannot be distinguished. The same name in
//! another spelling agrees ([`serial`]), as nothing documents that the two views spell it alike.

mod fingerprint;
pub(super) mod serial;

use os::{Deadline, DiskNumber};

use super::DiskError;
use crate::in_flight::Object;
use crate::{Node, storage};

/// The provider's disk of this number, if it is the kernel's; rescans once if it is another.
///
/// # Errors
/// The provider has none; [`DiskError::ViewsDiffer`] if it is still another after the rescan.
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

/// Refuses a disk if the provider's object of that number means another disk than the kernel's.
///
/// # Errors
/// [`DiskError::ViewsDiffer`]; the kernel does not answer.
pub(crate) fn require_same(node: &Node, disk: &storage::Disk) -> Result<(), DiskError> {
    match &disk.device_path {
        Some(path) => match require_number(node, disk.number, path)? {
            Proof::ByPath => Ok(()),
            Proof::None => fingerprint::require_same(node, disk),
        },
        None => fingerprint::require_same(node, disk),
    }
}

/// What a path proves about a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// The path opens the disk of the number.
    ByPath,
    /// Nothing: the kernel does not know the path, and no device ever had it.
    None,
}

/// Refuses a number unless the provider's path opens the disk of that number.
///
/// Only the path of a device interface, which has number signs, proves something by its absence. Clustered disks
/// and storage spaces have `\\?\Disk{...}`; no run has shown whether the kernel knows that form
/// (<https://github.com/dsccommunity/StorageDsc/issues/224>).
///
/// # Errors
/// [`DiskError::ViewsDiffer`] if the path leads to another disk or to none; [`DiskError::Kernel`] if it proves
/// neither.
pub(super) fn require_number(
    node: &Node,
    number: DiskNumber,
    path: &str,
) -> Result<Proof, DiskError> {
    let disk = Object::Disk(number);
    let ask = || node.os().disks.number_of(path);
    let found = node.in_flight().at(&disk, ask);
    let provider = match found {
        Ok(found) if found == number => return Ok(Proof::ByPath),
        Ok(found) => format!("disk {found} ({path})"),
        Err(error) if error.is_not_found() && !path.contains('#') => return Ok(Proof::None),
        Err(error) if error.is_not_found() => format!("one that is gone ({path})"),
        Err(source) => {
            return Err(DiskError::Kernel {
                disk: number,
                source,
            });
        }
    };
    Err(DiskError::ViewsDiffer {
        disk: number,
        kernel: "the disk of this number".to_owned(),
        provider,
    })
}
