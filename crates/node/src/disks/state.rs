//! Bringing disks online and taking them offline.

use os::schema::{Method, codes, disk};
use os::{Arguments, Deadline, DiskAccess, DiskAttributes, DiskNumber, Value, Win32};

use super::guard::{self, ChangeScope};
use super::{DiskError, Named, identity, offline};
use crate::{Node, ProviderError, storage};

/// What a disk is that somebody can use.
const UP: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: false,
};

/// What a disk is that somebody can read.
const UP_READ_ONLY: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: true,
};

/// What `MSFT_Disk.Offline` may answer of a disk that is used: its own code for that, and those that name no
/// other reason.
const USED: [u32; 4] = [
    codes::UNSPECIFIED_ERROR.code,
    codes::FAILED.code,
    codes::IN_USE.code,
    codes::ACCESS_DENIED.code,
];

/// The same where the call itself fails.
const USED_BY_SYSTEM: [Win32; 3] = [Win32::ACCESS_DENIED, Win32::SHARING_VIOLATION, Win32::BUSY];

/// One call of `SetDiskState`, under the disk's lock.
pub(super) struct Switching<'a> {
    node: &'a Node,
    disk: DiskNumber,
    named: Named<'a>,
    deadline: Deadline,
}

impl<'a> Switching<'a> {
    pub(super) fn of(node: &'a Node, named: Named<'a>, deadline: Deadline) -> Self {
        Self {
            node,
            disk: named.number(),
            named,
            deadline,
        }
    }

    /// Online and writable. A disk that is both is left as it is.
    pub(super) fn online(&self) -> Result<(), DiskError> {
        match self.attributes()? {
            before if before == UP => Ok(()),
            before => self.bring_up(before),
        }
    }

    /// The same, and refuses a disk that is never written, or not the one that was found, also where there is
    /// nothing to switch.
    pub(super) fn online_and_writable(&self) -> Result<(), DiskError> {
        self.bring_up(self.attributes()?)
    }

    /// Clears read-only before the disk comes online, as Windows signs a clone anew only if it may write it, and
    /// again after: "the disk must be online for most attributes to be set"
    /// (<https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-setattributes>). Then looks:
    /// neither is taken on trust, and one without the other is no success.
    fn bring_up(&self, before: DiskAttributes) -> Result<(), DiskError> {
        let disk = self.writable(ChangeScope::Blank)?;
        self.node.check(self.deadline, "online disk", &self.disk)?;
        if before.read_only {
            match self.clear_read_only(&disk) {
                Err(DiskError::Provider(error)) if before.offline => {
                    tracing::warn!(disk = self.disk.0, %error, "an offline disk stays read-only, which is tried again once it is online");
                }
                cleared => cleared?,
            }
        }
        if before.offline {
            self.switch(&disk, &disk::ONLINE)?;
        }
        let mut now = self.attributes()?;
        if before.offline && !now.offline && now.read_only {
            self.clear_read_only(&disk)?;
            now = self.attributes()?;
        }
        match now {
            now if now.offline => Err(DiskError::StaysOffline { disk: self.disk }),
            now if now.read_only => Err(DiskError::StaysReadOnly { disk: self.disk }),
            _ => Ok(()),
        }
    }

    /// Online and read-only. A disk that is both is left as it is; one that is online and writable goes offline
    /// first, once `release` has taken its volumes out of use, which lasts until the disk is read-only.
    pub(super) fn online_read_only<T>(
        &self,
        release: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<(), DiskError> {
        let before = self.attributes()?;
        let disk = self.writable(ChangeScope::Blank)?;
        if before == UP_READ_ONLY {
            return Ok(());
        }
        if before == UP {
            self.offline_and_read_only(release)?;
        } else if !before.read_only {
            self.make_read_only(&disk)?;
        }
        self.node.check(self.deadline, "online disk", &self.disk)?;
        self.switch(&disk, &disk::ONLINE)?;
        match self.attributes()? {
            now if now.offline => Err(DiskError::StaysOffline { disk: self.disk }),
            now if now.read_only => Ok(()),
            _ => Err(self.back_offline(&disk)),
        }
    }

    fn offline_and_read_only<T>(
        &self,
        release: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<(), DiskError> {
        let disk = self.writable(ChangeScope::Files)?;
        let _released = release()?;
        self.go_offline(&disk).map_err(|error| self.used(error))?;
        match self.attributes()?.offline {
            true => self
                .make_read_only(&disk)
                .inspect_err(|_| self.back_online(&disk)),
            false => Err(DiskError::StaysOnline { disk: self.disk }),
        }
    }

    /// Nobody asked for the disk to be offline, and it was writable before.
    fn back_online(&self, disk: &storage::Disk) {
        if let Err(error) = self.switch(disk, &disk::ONLINE) {
            tracing::error!(disk = self.disk.0, %error, "a disk that could not be made read-only stays offline");
        }
    }

    /// Past the provider, which changes online disks alone.
    fn make_read_only(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let set = self.set_access(DiskAccess::ReadOnly);
        set.map_err(DiskError::kernel(self.disk))?;
        match self.attributes()?.read_only {
            true => Ok(()),
            false => Err(DiskError::StaysWritable { disk: self.disk }),
        }
    }

    /// Nobody is to write to what was asked for read-only.
    fn back_offline(&self, disk: &storage::Disk) -> DiskError {
        if let Err(error) = self.switch(disk, &disk::OFFLINE) {
            tracing::error!(disk = self.disk.0, %error, "a disk came online writable that was to be read-only, and stays so");
        }
        DiskError::StaysWritable { disk: self.disk }
    }

    pub(super) fn offline(&self) -> Result<(), DiskError> {
        if self.attributes()?.offline {
            return Ok(());
        }
        self.go_offline(&self.writable(ChangeScope::Files)?)
    }

    /// Takes the disk offline that is the one that was found, once its volumes are out of use, which `release`
    /// sees to and which holds until what that gave is dropped: after Windows has answered, whatever that is.
    /// That Windows did it is not taken on trust.
    pub(super) fn offline_after<T>(
        &self,
        release: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<(), DiskError> {
        self.named.require(self.node, self.deadline)?;
        if self.attributes()?.offline {
            return Ok(());
        }
        let disk = self.writable(ChangeScope::Files)?;
        let _released = release()?;
        self.go_offline(&disk).map_err(|error| self.used(error))?;
        match self.attributes()?.offline {
            true => Ok(()),
            false => Err(DiskError::StaysOnline { disk: self.disk }),
        }
    }

    /// Nobody saw what Windows answers while volumes are locked. Whatever it is, the locks stay: without them
    /// a process that comes between would lose what it writes.
    fn used(&self, error: DiskError) -> DiskError {
        match error {
            DiskError::Provider(source) if is_used(&source) => {
                let disk = self.disk;
                DiskError::InUse { disk, source }
            }
            error => error,
        }
    }

    fn go_offline(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.node.check(self.deadline, offline::NAME, &self.disk)?;
        self.switch(disk, &disk::OFFLINE)
    }

    /// The number may have gone to another disk since it was looked at.
    fn switch(&self, disk: &storage::Disk, method: &'static Method) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let offline = *method == disk::OFFLINE;
        disk.wmi_object(self.node).invoke_and_verify(
            (method, &Arguments::none()),
            (self.node, self.deadline),
            || Ok(self.attributes()?.offline == offline),
        )
    }

    /// A refusal is logged: whether the disk is writable in the end shows by its attributes.
    fn clear_read_only(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let writable =
            Arguments::none().with(disk::set_attributes::IS_READ_ONLY.name, Value::Bool(false));
        // Whether it is read-only still is looked at next, where that matters.
        let cleared =
            disk.wmi_object(self.node)
                .invoke_unverified(&disk::SET_ATTRIBUTES, &writable, &[]);
        match cleared {
            Err(ProviderError::Refused { code, .. }) if code == codes::DISK_OFFLINE.code => {
                self.clear_at_the_kernel();
                Ok(())
            }
            Err(error @ ProviderError::Refused { .. }) => {
                tracing::warn!(disk = self.disk.0, %error, "a disk stays read-only");
                Ok(())
            }
            cleared => Ok(cleared?),
        }
    }

    /// A clone beside its original does not come online while it is read-only, and then the provider that changes
    /// online disks alone would never let it be written.
    fn clear_at_the_kernel(&self) {
        if let Err(error) = self.set_access(DiskAccess::ReadWrite) {
            tracing::warn!(disk = self.disk.0, %error, "an offline disk stays read-only");
        }
    }

    fn require_same(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        identity::require_same(self.node, disk)?;
        self.named.require(self.node, self.deadline)
    }

    fn writable(&self, scope: ChangeScope) -> Result<storage::Disk, DiskError> {
        let disk = identity::find(self.node, self.disk, self.deadline)?;
        self.named.require(self.node, self.deadline)?;
        let layout = self.node.os().disks.layout(self.disk);
        let layout = layout.map_err(DiskError::kernel(self.disk))?;
        guard::refuse(self.node, &disk, &layout, scope, self.deadline)?;
        Ok(disk)
    }

    fn set_access(&self, access: DiskAccess) -> os::Result<()> {
        self.node.os().disks.set_access(self.disk, access)
    }

    fn attributes(&self) -> Result<DiskAttributes, DiskError> {
        let attributes = self.node.os().disks.attributes(self.disk);
        attributes.map_err(DiskError::kernel(self.disk))
    }
}

fn is_used(error: &ProviderError) -> bool {
    match error {
        ProviderError::Refused { code, .. } => USED.contains(code),
        ProviderError::Os(error) => error
            .win32()
            .is_some_and(|code| USED_BY_SYSTEM.contains(&code)),
        _ => false,
    }
}
