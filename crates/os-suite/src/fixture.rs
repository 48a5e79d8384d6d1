use std::sync::Arc;

use os::{
    AfUnix, Boot, Clock, DiskNumber, Disks, Error, EventLog, Facility, Files, Firmware, LinkKind,
    Os, Provider, Services, VolumeId, Volumes, Win32, WinPath,
};

use crate::SuiteFailure;

/// A node for one case: some of its facilities, and a control for changes outside the seam.
pub struct Fixture {
    parts: Parts,
    control: Box<dyn CaseControl>,
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
    /// node. An implementation with [`Facility::Storage`] can do this.
    ///
    /// # Errors
    /// It cannot be plugged in, or this workbench has no disks.
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

/// Declares a fixture's possible parts: field, way to give it, trait, facility.
macro_rules! parts {
    ($($field:ident, $with:ident, $part:ident, $facility:ident;)*) => {
        #[derive(Default)]
        struct Parts {
            $($field: Option<Arc<dyn $part>>,)*
        }

        /// Each facility has a setter and a getter; the getter fails with
        /// [`SuiteFailure::Unequipped`] if the facility was not set.
        #[allow(missing_docs, reason = "the names are those of the fields of `Os`")]
        #[allow(clippy::missing_errors_doc, reason = "said once for all of them")]
        impl Fixture {
            $(
                #[must_use]
                pub fn $with(mut self, part: Arc<dyn $part>) -> Self {
                    self.parts.$field = Some(part);
                    self
                }

                pub fn $field(&self) -> Result<&dyn $part, SuiteFailure> {
                    let part = self.parts.$field.as_deref();
                    part.ok_or(SuiteFailure::Unequipped(stringify!($field)))
                }
            )*

            /// All facilities of a node.
            #[must_use]
            pub fn with_os(self, os: &Os) -> Self {
                self$(.$with(Arc::clone(&os.$field)))*
            }

            /// Whether it has a facility.
            #[must_use]
            pub fn has(&self, facility: Facility) -> bool {
                match facility {
                    $(Facility::$facility => self.parts.$field.is_some(),)*
                }
            }
        }
    };
}

parts! {
    afunix, with_afunix, AfUnix, AfUnix;
    boot, with_boot, Boot, Boot;
    clock, with_clock, Clock, Clock;
    disks, with_disks, Disks, Disks;
    event_log, with_event_log, EventLog, EventLog;
    files, with_files, Files, Files;
    firmware, with_firmware, Firmware, Firmware;
    iscsi, with_iscsi, Provider, Iscsi;
    services, with_services, Services, Services;
    smb, with_smb, Provider, Smb;
    storage, with_storage, Provider, Storage;
    volumes, with_volumes, Volumes, Volumes;
}

impl Fixture {
    /// A node without facilities yet.
    pub fn new(control: impl CaseControl + 'static) -> Self {
        Self::of(Box::new(control))
    }

    /// As [`Fixture::new`], of a boxed control.
    #[must_use]
    pub fn of(control: Box<dyn CaseControl>) -> Self {
        Self {
            parts: Parts::default(),
            control,
        }
    }

    /// The control.
    #[must_use]
    pub fn control(&self) -> &dyn CaseControl {
        &*self.control
    }
}
