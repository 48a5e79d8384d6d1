//! Bringing disks online and taking them offline.

use os::schema::{Method, codes, disk};
use os::{Arguments, Deadline, DiskAccess, DiskAttributes, DiskNumber, Value, Win32};

use super::guard::{self, ChangeScope};
use super::{DiskError, Named, offline, offline_reason};
use crate::{Node, ProviderError, storage};

/// The attributes of a disk that is ready for use.
const UP: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: false,
};

/// The attributes of a disk that is ready for reading.
const UP_READ_ONLY: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: true,
};

/// Codes of `MSFT_Disk.Offline` for a disk in use: its own code for that, and those that name no other
/// reason.
const USED: [u32; 4] = [
    codes::UNSPECIFIED_ERROR.code,
    codes::FAILED.code,
    codes::IN_USE.code,
    codes::ACCESS_DENIED.code,
];

/// The same for a call that fails as a whole.
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

    /// Brings the disk online and makes it writable. A disk that is both is left as it is.
    pub(super) fn online(&self) -> Result<(), DiskError> {
        match self.attributes()? {
            before if before == UP => Ok(()),
            before => self.bring_up(&self.writable(ChangeScope::Blank)?, before),
        }
    }

    /// The same, but refuses a disk that is never written, is another path to one, or is not the one that was found, even
    /// with nothing to switch.
    pub(super) fn online_and_writable(&self) -> Result<(), DiskError> {
        let before = self.attributes()?;
        self.explained(before, |disk| self.bring_up(&disk, before))
    }

    /// Refuses an offline disk that is another path to one, before `act` changes anything, and says why Windows kept it
    /// offline.
    fn explained(
        &self,
        before: DiskAttributes,
        act: impl FnOnce(storage::Disk) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let disk = self.writable(ChangeScope::Blank)?;
        if !before.offline {
            return act(disk);
        }
        self.require_same(&disk)?;
        let reason = offline_reason::refuse_redundant_path(self.node, &disk, self.deadline)?;
        let done = act(disk);
        match (done, reason) {
            (Ok(()), Some(reason)) => {
                tracing::info!(disk = self.disk.0, %reason, "Windows kept a disk offline, which is online now");
                Ok(())
            }
            (Err(error), Some(reason)) if is_of_coming_online(&error) => {
                let source = Box::new(error);
                Err(DiskError::KeptOffline { reason, source })
            }
            (done, _) => done,
        }
    }

    /// Clears read-only before the disk comes online, as Windows writes a clone's new signature only to a
    /// writable disk, and again afterwards: "the disk must be online for most attributes to be set"
    /// (<https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-setattributes>). Then reads the
    /// attributes: both must be as wanted.
    fn bring_up(&self, disk: &storage::Disk, before: DiskAttributes) -> Result<(), DiskError> {
        self.node.check(self.deadline, "online disk", &self.disk)?;
        if before.read_only {
            match self.clear_read_only(disk) {
                Err(DiskError::Provider(error)) if before.offline => {
                    tracing::warn!(disk = self.disk.0, %error, "an offline disk stays read-only, which is tried again once it is online");
                }
                cleared => cleared?,
            }
        }
        if before.offline {
            self.switch(disk, &disk::ONLINE)?;
        }
        let mut now = self.attributes()?;
        if before.offline && !now.offline && now.read_only {
            self.clear_read_only(disk)?;
            now = self.attributes()?;
        }
        match now {
            now if now.offline => Err(DiskError::StaysOffline { disk: self.disk }),
            now if now.read_only => Err(DiskError::StaysReadOnly { disk: self.disk }),
            _ => Ok(()),
        }
    }

    /// Brings the disk online read-only. A disk that is both is left as it is. A disk that is online and
    /// writable goes offline first: `release` locks its volumes, and its guard is dropped once the disk is
    /// read-only.
    pub(super) fn online_read_only<T>(
        &self,
        release: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<(), DiskError> {
        let before = self.attributes()?;
        self.explained(before, |disk| {
            self.bring_up_read_only(&disk, before, release)
        })
    }

    fn bring_up_read_only<T>(
        &self,
        disk: &storage::Disk,
        before: DiskAttributes,
        release: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<(), DiskError> {
        if before == UP_READ_ONLY {
            return Ok(());
        }
        if before == UP {
            self.offline_and_read_only(release)?;
        } else if !before.read_only {
            self.make_read_only(disk)?;
        }
        self.node.check(self.deadline, "online disk", &self.disk)?;
        self.switch(disk, &disk::ONLINE)?;
        match self.attributes()? {
            now if now.offline => Err(DiskError::StaysOffline { disk: self.disk }),
            now if now.read_only => Ok(()),
            _ => Err(self.back_offline(disk)),
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

    /// No caller wanted the disk offline, and it was writable before.
    fn back_online(&self, disk: &storage::Disk) {
        if let Err(error) = self.switch(disk, &disk::ONLINE) {
            tracing::error!(disk = self.disk.0, %error, "a disk that could not be made read-only stays offline");
        }
    }

    /// Bypasses the provider, which changes only online disks.
    fn make_read_only(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let set = self.set_access(DiskAccess::ReadOnly);
        set.map_err(DiskError::kernel(self.disk))?;
        match self.attributes()?.read_only {
            true => Ok(()),
            false => Err(DiskError::StaysWritable { disk: self.disk }),
        }
    }

    /// A disk requested read-only must not stay writable.
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

    /// Takes the found disk offline. `release` locks its volumes; its guard is dropped after Windows answered.
    /// Then reads whether the disk is offline.
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

    /// No run has shown the code of Windows while volumes are locked. The locks stay with any code: without
    /// them a process that opens a volume would lose its writes.
    fn used(&self, error: DiskError) -> DiskError {
        match error {
            DiskError::Provider(source) if is_used(&source) => {
                let disk = self.disk;
                DiskError::InUse { disk, source }
            }
            // For callers who take what is not found for gone.
            DiskError::Provider(source) if is_lost(&source) && self.attributes().is_ok() => {
                let disk = self.disk;
                DiskError::Lost { disk, source }
            }
            error => error,
        }
    }

    fn go_offline(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.node.check(self.deadline, offline::NAME, &self.disk)?;
        self.switch(disk, &disk::OFFLINE)
    }

    /// Checks the disk once more, as its number may have gone to another.
    fn switch(&self, disk: &storage::Disk, method: &'static Method) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let offline = *method == disk::OFFLINE;
        disk.wmi_object(self.node).invoke_and_verify(
            (method, &Arguments::none()),
            (self.node, self.deadline),
            || Ok(self.attributes()?.offline == offline),
        )
    }

    /// A refusal is only logged: the attributes show in the end whether the disk is writable.
    fn clear_read_only(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let writable =
            Arguments::none().with(disk::set_attributes::IS_READ_ONLY.name, Value::Bool(false));
        // A caller that needs the result reads the attribute next.
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

    /// A clone beside its original does not come online while it is read-only, and the provider changes only
    /// online disks, so it could never make the clone writable.
    fn clear_at_the_kernel(&self) {
        if let Err(error) = self.set_access(DiskAccess::ReadWrite) {
            tracing::warn!(disk = self.disk.0, %error, "an offline disk stays read-only");
        }
    }

    fn require_same(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.named.require_same(self.node, disk, self.deadline)
    }

    fn writable(&self, scope: ChangeScope) -> Result<storage::Disk, DiskError> {
        let disk = self.named.object(self.node, self.deadline)?;
        let layout = self.node.disk_layout(self.disk)?;
        guard::refuse(self.node, &disk, &layout, scope, self.deadline)?;
        Ok(disk)
    }

    fn set_access(&self, access: DiskAccess) -> os::Result<()> {
        self.node.os().disks.set_access(self.disk, access)
    }

    fn attributes(&self) -> Result<DiskAttributes, DiskError> {
        self.node.disk_attributes(self.disk)
    }
}

fn is_of_coming_online(error: &DiskError) -> bool {
    matches!(
        error,
        DiskError::Provider(_) | DiskError::StaysOffline { .. }
    )
}

fn is_lost(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Refused { code, .. } if *code == codes::OBJECT_NOT_FOUND.code)
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
