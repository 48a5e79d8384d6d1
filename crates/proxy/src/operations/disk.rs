use std::collections::BTreeMap;

use formats::location::Location;
use node::{DiskError, DiskIds};
use os::{Deadline, DiskNumber};

use super::PipeOperations;

/// Whether a disk's volumes are reachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskState {
    Offline,
    Online,
}

impl DiskState {
    /// By the field `is_online`.
    pub(crate) fn of(is_online: bool) -> Self {
        if is_online {
            Self::Online
        } else {
            Self::Offline
        }
    }
}

/// A failed disk operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskFailure {
    #[error(transparent)]
    Operation(#[from] DiskError),
    /// More bytes than the wire's signed 64 bits hold.
    #[error("disk {disk}: size {bytes} does not fit")]
    Size { disk: DiskNumber, bytes: u64 },
}

type Result<T> = std::result::Result<T, DiskFailure>;

impl PipeOperations {
    pub(crate) fn disk_locations(
        &self,
        deadline: Deadline,
    ) -> Result<BTreeMap<DiskNumber, Location>> {
        Ok(self.node.operations().disks().locations(deadline)?)
    }

    pub(crate) fn disk_ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>> {
        Ok(self.node.operations().disks().ids(deadline)?)
    }

    /// The disk with this page 0x83 identifier, spelt as [`PipeOperations::disk_ids`] does.
    pub(crate) fn disk_of_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber> {
        Ok(self.node.operations().disks().by_page83(page83, deadline)?)
    }

    pub(crate) fn partition_disk(&self, disk: u32, deadline: Deadline) -> Result<()> {
        Ok(self
            .node
            .operations()
            .disks()
            .partition(DiskNumber(disk), deadline)?)
    }

    pub(crate) fn rescan(&self, deadline: Deadline) -> Result<()> {
        Ok(self.node.operations().disks().rescan(deadline)?)
    }

    pub(crate) fn disk_size(&self, disk: u32, deadline: Deadline) -> Result<i64> {
        let disk = DiskNumber(disk);
        let bytes = self.node.operations().disks().size(disk, deadline)?;
        i64::try_from(bytes).map_err(|_| DiskFailure::Size { disk, bytes })
    }

    pub(crate) fn set_disk_state(
        &self,
        disk: u32,
        state: DiskState,
        deadline: Deadline,
    ) -> Result<()> {
        let disks = self.node.operations().disks();
        match state {
            DiskState::Offline => disks.set_offline(DiskNumber(disk), deadline)?,
            DiskState::Online => disks.set_online(DiskNumber(disk), deadline)?,
        }
        Ok(())
    }

    pub(crate) fn is_disk_online(&self, disk: u32, deadline: Deadline) -> Result<bool> {
        Ok(self
            .node
            .operations()
            .disks()
            .is_online(DiskNumber(disk), deadline)?)
    }
}
