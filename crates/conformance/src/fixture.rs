use std::path::{Path, PathBuf};

use node::Node;
use os::{
    AfUnix, Boot, Clock, DiskNumber, Disks, Error, EventLog, Files, Firmware, LinkKind, Os,
    Provider, Services, VolumeId, Volumes, Win32, WinPath,
};

/// A node for one case about the seam, and a control for changes outside it.
pub struct Fixture {
    os: Os,
    control: Box<dyn CaseControl>,
}

impl Fixture {
    #[must_use]
    pub fn new(os: Os, control: Box<dyn CaseControl>) -> Self {
        Self { os, control }
    }

    pub fn control(&self) -> &dyn CaseControl {
        &*self.control
    }
}

/// Facilities of the node under test.
macro_rules! facilities {
    ($($name:ident: $facility:ident;)*) => {
        impl Fixture {
            $(pub fn $name(&self) -> &dyn $facility {
                &*self.os.$name
            })*
        }
    };
}

facilities! {
    afunix: AfUnix;
    boot: Boot;
    clock: Clock;
    disks: Disks;
    event_log: EventLog;
    files: Files;
    firmware: Firmware;
    iscsi: Provider;
    processes: Provider;
    services: Services;
    smb: Provider;
    storage: Provider;
    volumes: Volumes;
}

/// A case's changes of the node outside the seam. Dropping it undoes everything.
pub trait CaseControl: Send + Sync {
    /// An empty directory for this case alone: on a volume with reparse points, and without a link
    /// in its path.
    fn folder(&self) -> &WinPath;

    /// The volume with [`CaseControl::folder`] below its root, so the folder without its drive is a path on the volume.
    fn volume(&self) -> VolumeId;

    /// Writes a file.
    ///
    /// # Errors
    /// It cannot be written.
    fn write_file(&self, path: &WinPath, content: &[u8]) -> os::Result<()>;

    /// The content of a file, all links followed.
    ///
    /// # Errors
    /// It cannot be read.
    fn read_file(&self, path: &WinPath) -> os::Result<Vec<u8>>;

    /// Sets the read-only attribute.
    ///
    /// # Errors
    /// No such entry.
    fn set_read_only(&self, path: &WinPath) -> os::Result<()>;

    /// Creates a reparse point from its `REPARSE_DATA_BUFFER` or `REPARSE_GUID_DATA_BUFFER`, on a
    /// new directory or file.
    ///
    /// # Errors
    /// It cannot be created.
    fn create_reparse_point(&self, path: &WinPath, kind: LinkKind, data: &[u8]) -> os::Result<()>;

    /// Makes a reparse point of an empty directory in place, with no more than leave to write its attributes.
    ///
    /// # Errors
    /// The directory is not empty.
    fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> os::Result<()>;

    /// Plugs in a disk of 1 GiB for this case alone: blank, offline or not, in both views of the
    /// node. An implementation with storage can do this.
    ///
    /// # Errors
    /// It cannot be plugged in, or this fixture has no disks.
    fn raw_disk(&self) -> os::Result<DiskNumber> {
        let cause = Win32::CALL_NOT_IMPLEMENTED;
        Err(Error::new("plug in", "a raw disk", cause))
    }

    /// A share for the cases of SMB, if the node has one.
    fn share(&self) -> Option<Share> {
        None
    }

    /// The name or address of a machine, and a TCP port with a listener; its port 1 has none.
    fn listener(&self) -> Option<(String, u16)> {
        None
    }

    /// A target for the cases of iSCSI, if the node has one.
    fn target(&self) -> Option<IscsiTarget> {
        None
    }

    /// A volume on several disks, if the node has one.
    fn spanned(&self) -> Option<VolumeId> {
        None
    }

    /// The name of a stopped service that nothing needs, for cases to start and stop, if the node has one.
    fn idle_service(&self) -> Option<&'static str> {
        None
    }
}

/// A share of an encrypting server without a mapping on the node.
pub struct Share {
    /// `\\server\share`.
    pub path: String,
    /// A user of it, as `DOMAIN\user`.
    pub user: String,
    pub password: String,
}

/// A target that asks for nothing, that nothing on the node leads to, and whose portal listens on
/// 3260. The initiator service runs.
pub struct IscsiTarget {
    /// The address of its portal.
    pub portal: String,
    /// Its iSCSI qualified name.
    pub name: String,
}

/// A node for one case, and a control for the actions of hardware and other people. Dropping it removes everything made
/// for the case.
pub trait NodeFixture: CaseControl {
    /// The operations, over the whole node.
    fn node(&self) -> &Node;

    /// The system beneath them.
    fn os(&self) -> &Os {
        self.node().os()
    }

    /// Plugs in a blank disk of so many bytes, known to both views of the node.
    ///
    /// # Errors
    /// It cannot be made or plugged in.
    fn plug(&self, length: u64) -> os::Result<DiskNumber>;

    /// Makes a disk of [`NodeFixture::plug`] longer. It may be away meanwhile and come back under another number;
    /// returns the number.
    ///
    /// # Errors
    /// It cannot be grown, or does not come back.
    fn grow(&self, disk: DiskNumber, length: u64) -> os::Result<DiskNumber>;

    /// Plugs in a longer copy of a disk of [`NodeFixture::plug`], beside it. Returns the number of the disk (it may
    /// have been away meanwhile) and that of the copy, with the same identifiers. Nothing of the disk is mounted.
    ///
    /// # Errors
    /// It cannot be copied, or one of the two does not come.
    fn copy(&self, disk: DiskNumber, length: u64) -> os::Result<[DiskNumber; 2]>;

    /// Writes only to a disk of [`NodeFixture::plug`], past the node and its guard.
    ///
    /// # Errors
    /// It is none of those, or cannot be written.
    fn overwrite(&self, disk: DiskNumber, offset: u64, bytes: &[u8]) -> os::Result<()>;

    /// Removes a disk of [`NodeFixture::plug`], as hardware does: without notice.
    ///
    /// # Errors
    /// It is none of those, or stays.
    fn unplug(&self, disk: DiskNumber) -> os::Result<()>;

    /// Makes a disk of [`NodeFixture::plug`] longer, while attached, and notifies neither view of the node.
    ///
    /// # Errors
    /// It cannot grow without going away.
    fn grow_in_place(&self, disk: DiskNumber, length: u64) -> os::Result<()>;

    /// The answer to `IOCTL_DISK_GET_DRIVE_LAYOUT_EX`, before anything of ours has read it.
    ///
    /// # Errors
    /// The disk does not answer, or this fixture has no such bytes.
    fn layout_bytes(&self, disk: DiskNumber) -> os::Result<Vec<u8>>;

    /// Makes the server of the share go away until [`NodeFixture::bring_share_back`].
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
    fn shared_file(&self) -> Option<SharedFile>;

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
pub struct SharedFile {
    /// Path, user and password.
    pub share: Share,
    /// The name of a file in its root.
    pub file: &'static str,
    /// The file's content.
    pub content: &'static [u8],
}
