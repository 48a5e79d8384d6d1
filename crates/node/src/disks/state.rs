//! Bringing disks online and taking them offline.

use os::schema::{Method, disk};
use os::{Arguments, Deadline, DiskAttributes, DiskNumber, Value};

use super::guard::{self, Reach};
use super::{DiskError, Named, identity, offline};
use crate::{Node, ProviderError, storage};

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

    /// Read-only is cleared before, as cloned disks come read-only; where Windows refuses that (a disk
    /// that the hardware protects), the disk comes online all the same.
    pub(super) fn online(&self) -> Result<(), DiskError> {
        let before = self.attributes()?;
        if !before.offline {
            return Ok(());
        }
        let disk = self.writable(Reach::Blank)?;
        if before.read_only {
            self.clear_read_only(&disk)?;
        }
        self.node.check(self.deadline, "online disk", &self.disk)?;
        self.switch(&disk, &disk::ONLINE)
    }

    /// The same also for a disk that is online and read-only; neither is taken on trust.
    pub(super) fn online_and_writable(&self) -> Result<(), DiskError> {
        let before = self.attributes()?;
        let disk = self.writable(Reach::Blank)?;
        self.node.check(self.deadline, "online disk", &self.disk)?;
        if before.read_only {
            self.clear_read_only(&disk)?;
        }
        if before.offline {
            self.switch(&disk, &disk::ONLINE)?;
        }
        match self.attributes()? {
            now if now.offline => Err(DiskError::StaysOffline { disk: self.disk }),
            now if now.read_only => Err(DiskError::StaysReadOnly { disk: self.disk }),
            _ => Ok(()),
        }
    }

    pub(super) fn offline(&self) -> Result<(), DiskError> {
        if self.attributes()?.offline {
            return Ok(());
        }
        self.go_offline(&self.writable(Reach::Files)?)
    }

    /// Takes the disk offline that is the one that was found, once its volumes are out of use, which `release`
    /// sees to and which holds until what that gave is dropped. That Windows did it is not taken on trust.
    pub(super) fn offline_after<T>(
        &self,
        release: impl FnOnce() -> Result<T, DiskError>,
    ) -> Result<(), DiskError> {
        self.named.require(self.node, self.deadline)?;
        if self.attributes()?.offline {
            return Ok(());
        }
        let disk = self.writable(Reach::Files)?;
        let _released = release()?;
        self.go_offline(&disk)?;
        match self.attributes()?.offline {
            true => Ok(()),
            false => Err(DiskError::StaysOnline { disk: self.disk }),
        }
    }

    fn go_offline(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.node.check(self.deadline, offline::NAME, &self.disk)?;
        self.switch(disk, &disk::OFFLINE)
    }

    /// The number may have gone to another disk since it was looked at.
    fn switch(&self, disk: &storage::Disk, method: &'static Method) -> Result<(), DiskError> {
        self.require_same(disk)?;
        Ok(disk.callee(self.node).invoke(method, &Arguments::none())?)
    }

    fn clear_read_only(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        self.require_same(disk)?;
        let writable =
            Arguments::none().with(disk::set_attributes::IS_READ_ONLY.name, Value::Bool(false));
        let cleared = disk
            .callee(self.node)
            .invoke(&disk::SET_ATTRIBUTES, &writable);
        match cleared {
            Err(error @ ProviderError::Refused { .. }) => {
                tracing::warn!(disk = self.disk.0, %error, "a disk stays read-only");
                Ok(())
            }
            cleared => Ok(cleared?),
        }
    }

    fn require_same(&self, disk: &storage::Disk) -> Result<(), DiskError> {
        identity::require_same(self.node, disk)?;
        self.named.require(self.node, self.deadline)
    }

    fn writable(&self, reach: Reach) -> Result<storage::Disk, DiskError> {
        let disk = identity::find(self.node, self.disk, self.deadline)?;
        self.named.require(self.node, self.deadline)?;
        let layout = self.node.os().disks.layout(self.disk);
        let layout = layout.map_err(DiskError::kernel(self.disk))?;
        guard::refuse(self.node, &disk, &layout, reach, self.deadline)?;
        Ok(disk)
    }

    fn attributes(&self) -> Result<DiskAttributes, DiskError> {
        let attributes = self.node.os().disks.attributes(self.disk);
        attributes.map_err(DiskError::kernel(self.disk))
    }
}
