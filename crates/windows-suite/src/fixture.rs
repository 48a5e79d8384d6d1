use std::path::{Path, PathBuf};

use node::Node;
use os::DiskNumber;
use os_suite::CaseControl;

/// A node for one case, and a hand that does what hardware and other people do. Dropping it takes away what was
/// made for the case.
pub trait MachineFixture: CaseControl {
    /// The operations, over the whole node.
    fn node(&self) -> &Node;

    /// Plugs in a blank disk of so many bytes, that both views of the node know.
    ///
    /// # Errors
    /// It cannot be made or plugged in.
    fn plug(&self, length: u64) -> os::Result<DiskNumber>;

    /// Makes a disk longer that [`MachineFixture::plug`] made. It may be away meanwhile and come back under another
    /// number, which is the answer.
    ///
    /// # Errors
    /// It cannot be grown, or does not come back.
    fn grow(&self, disk: DiskNumber, length: u64) -> os::Result<DiskNumber>;

    /// Plugs in a copy of a disk that [`MachineFixture::plug`] made, made longer, beside it: the number of the disk, which
    /// may have been away meanwhile, and that of the copy, which has its identifiers. Nothing of the disk is
    /// mounted.
    ///
    /// # Errors
    /// It cannot be copied, or one of the two does not come.
    fn copy(&self, disk: DiskNumber, length: u64) -> os::Result<[DiskNumber; 2]>;

    /// Writes to a disk that [`MachineFixture::plug`] made, past the node and its guard, and to no other.
    ///
    /// # Errors
    /// It is none of those, or cannot be written.
    fn overwrite(&self, disk: DiskNumber, offset: u64, bytes: &[u8]) -> os::Result<()>;

    /// Takes a disk away that [`MachineFixture::plug`] made, as hardware that is gone: nothing of it is told before.
    ///
    /// # Errors
    /// It is none of those, or stays.
    fn unplug(&self, disk: DiskNumber) -> os::Result<()>;

    /// Makes a disk longer that [`MachineFixture::plug`] made, while it is there, and tells neither view of the node.
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

    /// Lets the share's server answer again. One that does so already is success.
    ///
    /// # Errors
    /// It does not come back.
    fn bring_share_back(&self) -> os::Result<()>;

    /// The share and a file in it.
    fn shared_file(&self) -> Option<Share>;

    /// Two services of the suite's own that are stopped: one, and one that needs it.
    fn chained_services(&self) -> Option<[&'static str; 2]>;

    /// A folder for sockets that is not there yet, as a path of this process's own.
    fn socket_folder(&self) -> PathBuf;

    /// Whether such a folder lets in nobody but those who may serve in it, whatever stands above it.
    ///
    /// # Errors
    /// The system does not say.
    fn is_closed_to_others(&self, folder: &Path) -> os::Result<bool>;

    /// How many handles this process has open.
    ///
    /// # Errors
    /// The system does not say.
    fn handles(&self) -> os::Result<u64>;

    /// Logs what the system answered where no document says what it must be.
    fn note(&self, text: &str);
}

/// A share with a file, for those who look at what a mapping leads to.
pub struct Share {
    /// Path, user and password.
    pub share: os_suite::Share,
    /// The name of a file in its root.
    pub file: &'static str,
    /// What is in the file.
    pub content: &'static [u8],
}
