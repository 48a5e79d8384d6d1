use std::path::{Path, PathBuf};

use node::Node;
use os::DiskNumber;
use os_suite::CaseControl;

/// A node for one case, and a control for the actions of hardware and other people. Dropping it removes everything made
/// for the case.
pub trait MachineFixture: CaseControl {
    /// The operations, over the whole node.
    fn node(&self) -> &Node;

    /// Plugs in a blank disk of so many bytes, known to both views of the node.
    ///
    /// # Errors
    /// It cannot be made or plugged in.
    fn plug(&self, length: u64) -> os::Result<DiskNumber>;

    /// Makes a disk of [`MachineFixture::plug`] longer. It may be away meanwhile and come back under another number;
    /// returns the number.
    ///
    /// # Errors
    /// It cannot be grown, or does not come back.
    fn grow(&self, disk: DiskNumber, length: u64) -> os::Result<DiskNumber>;

    /// Plugs in a longer copy of a disk of [`MachineFixture::plug`], beside it. Returns the number of the disk (it may
    /// have been away meanwhile) and that of the copy, with the same identifiers. Nothing of the disk is mounted.
    ///
    /// # Errors
    /// It cannot be copied, or one of the two does not come.
    fn copy(&self, disk: DiskNumber, length: u64) -> os::Result<[DiskNumber; 2]>;

    /// Writes only to a disk of [`MachineFixture::plug`], past the node and its guard.
    ///
    /// # Errors
    /// It is none of those, or cannot be written.
    fn overwrite(&self, disk: DiskNumber, offset: u64, bytes: &[u8]) -> os::Result<()>;

    /// Removes a disk of [`MachineFixture::plug`], as hardware does: without notice.
    ///
    /// # Errors
    /// It is none of those, or stays.
    fn unplug(&self, disk: DiskNumber) -> os::Result<()>;

    /// Makes a disk of [`MachineFixture::plug`] longer, while attached, and notifies neither view of the node.
    ///
    /// # Errors
    /// It cannot grow without going away.
    fn grow_in_place(&self, disk: DiskNumber, length: u64) -> os::Result<()>;

    /// The answer to `IOCTL_DISK_GET_DRIVE_LAYOUT_EX`, before anything of ours has read it.
    ///
    /// # Errors
    /// The disk does not answer, or this stand has no such bytes.
    fn layout_bytes(&self, disk: DiskNumber) -> os::Result<Vec<u8>>;

    /// Makes the server of the share go away until [`MachineFixture::bring_share_back`].
    ///
    /// # Errors
    /// It does not go.
    fn take_share_away(&self) -> os::Result<()>;

    /// Lets the share's server answer again. An answering one is success.
    ///
    /// # Errors
    /// It does not come back.
    fn bring_share_back(&self) -> os::Result<()>;

    /// The share and a file in it.
    fn shared_file(&self) -> Option<Share>;

    /// Two stopped services of the suite's own: one, and one that needs it.
    fn chained_services(&self) -> Option<[&'static str; 2]>;

    /// A folder for sockets that does not exist yet, as a path of this process's own.
    fn socket_folder(&self) -> PathBuf;

    /// Whether such a folder lets in only those who may serve in it, whatever the folders above it allow.
    ///
    /// # Errors
    /// The system does not say.
    fn is_closed_to_others(&self, folder: &Path) -> os::Result<bool>;

    /// How many handles this process has open.
    ///
    /// # Errors
    /// The system does not say.
    fn handles(&self) -> os::Result<u64>;

    /// Logs the system's answer if no document defines it.
    fn note(&self, text: &str);
}

/// A share with a file, to check a mapping's target.
pub struct Share {
    /// Path, user and password.
    pub share: os_suite::Share,
    /// The name of a file in its root.
    pub file: &'static str,
    /// The file's content.
    pub content: &'static [u8],
}
