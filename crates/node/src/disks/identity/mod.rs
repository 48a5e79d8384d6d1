//! Whether kernel and storage provider mean the same disk by a number.
//!
//! The provider answers from a cache. After a disk was pulled out and another took its number, its
//! object of that number is still the first one's, and what it writes goes there.
//!
//! **With a path.** The object names the device that it stands for: `MSFT_Disk.Path` opens it, and the
//! kernel says which number that device has now. The same number is the same disk, another number or
//! nothing at that path is another one; no text is compared. What the object says besides may lag (a
//! disk that grew, another in the same slot, which has the same path): that is for the caller to
//! see to, as what the provider writes goes to the device all the same. A path that does not open for
//! another reason than being gone proves nothing, so that nothing is written then.
//!
//! **Without a path**, or with one that no device ever had. The class requires one, so that this is for a provider
//! that breaks its word, and nothing is lost by being strict: the lengths are equal, and one name of the disk agrees. That is the
//! unique id where the provider made it of SCSI page 0x83 and the kernel has the page, otherwise the
//! serial number. What one of them lacks proves nothing: two disks of one length and no name are told
//! apart by nobody. But the same name in another spelling agrees ([`serial`]), as nothing says that
//! the two are spelt alike.

mod fingerprint;
pub(super) mod serial;

use os::{Deadline, DiskNumber};

use super::DiskError;
use crate::in_flight::Object;
use crate::{Node, storage};

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

/// Refuses a disk of which the provider has another in mind than the kernel.
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

/// What a path proves of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// It opens the disk of the number.
    ByPath,
    /// Nothing: it is none that the kernel knows, and was none of a device.
    None,
}

/// Refuses a number that is not the one of the disk that the provider's path of it opens.
///
/// A path of another form than a device interface's, which has number signs, says nothing by not being there: of
/// clustered disks and storage spaces it is `\\?\Disk{...}`, and whether the kernel knows it was not seen
/// (<https://github.com/dsccommunity/StorageDsc/issues/224>).
///
/// # Errors
/// [`DiskError::ViewsDiffer`] when it is another's or nobody's; [`DiskError::Kernel`] when the path
/// proves neither.
pub(super) fn require_number(
    node: &Node,
    number: DiskNumber,
    path: &str,
) -> Result<Proof, DiskError> {
    let disk = Object::Disk(number);
    let found = node
        .in_flight()
        .at(&disk, || node.os().disks.number_of(path));
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
