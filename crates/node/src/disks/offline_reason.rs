//! Why Windows keeps a disk offline, and the one reason for which it stays so.
//!
//! Without MPIO a second session to an iSCSI target, or a second cable, shows a disk twice. Windows keeps one of both
//! offline, as "multipathing is physically enabled, but the MPIO software is not installed or is not functioning"
//! (`VDS_DISK_OFFLINE_REASON`, vds.h). No run has shown the result of `Online` then; both online would be two writers of
//! one disk.

use std::fmt;

use os::schema::disk::{self, offline_reason};
use os::{Deadline, DiskNumber, Query, Value};

use super::DiskError;
use crate::provider::sole;
use crate::{Node, ProviderError, local_rows, storage};

/// `MSFT_Disk.OfflineReason` of an offline disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfflineReason(u32);

impl OfflineReason {
    /// The reason of an offline disk, after the provider has looked again: its row may be from before the disk went
    /// offline. `None` if it has none.
    pub(super) fn of(
        node: &Node,
        disk: &storage::Disk,
        deadline: Deadline,
    ) -> Result<Option<Self>, ProviderError> {
        disk.refresh(node);
        Self::reported(node, disk.number, deadline)
    }

    /// As the provider's row has it.
    pub(super) fn reported(
        node: &Node,
        disk: DiskNumber,
        deadline: Deadline,
    ) -> Result<Option<Self>, ProviderError> {
        let query = Query::all(disk::CLASS.name, &[disk::OFFLINE_REASON.name])
            .with(disk::NUMBER.name, Value::uint32(disk.0));
        let found = local_rows::query(node, &query, deadline)?;
        let row = sole(&format_args!("disk {disk}"), found)?;
        let reason = row.u32_or_null(disk::OFFLINE_REASON.name)?;
        let is_known = |reason: &u32| *reason != offline_reason::NONE.value;
        Ok(reason.filter(is_known).map(Self))
    }

    fn is_redundant_path(self) -> bool {
        self.0 == offline_reason::REDUNDANT_PATH.value
    }
}

impl fmt::Display for OfflineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut known = offline_reason::VALUES.iter();
        match known.find(|known| known.value == self.0) {
            Some(known) => f.write_str(known.name),
            None => write!(f, "reason {}", self.0),
        }
    }
}

/// The reason of an offline disk that may come online.
///
/// # Errors
/// [`DiskError::RedundantPath`].
pub(super) fn refuse_redundant_path(
    node: &Node,
    disk: &storage::Disk,
    deadline: Deadline,
) -> Result<Option<OfflineReason>, DiskError> {
    match OfflineReason::of(node, disk, deadline)? {
        Some(reason) if reason.is_redundant_path() => Err(DiskError::RedundantPath {
            disk: disk.number,
            others: other_paths(node, disk, deadline)?,
        }),
        reason => Ok(reason),
    }
}

/// The other disks with the provider's identifier of this one.
fn other_paths(
    node: &Node,
    disk: &storage::Disk,
    deadline: Deadline,
) -> Result<Vec<DiskNumber>, ProviderError> {
    let Some(id) = &disk.unique_id else {
        return Ok(Vec::new());
    };
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
        .with(disk::UNIQUE_ID.name, Value::text(id));
    let rows = local_rows::query(node, &query, deadline)?;
    let numbers = rows.iter().map(|row| row.u32_or_null(disk::NUMBER.name));
    let numbers: os::Result<Vec<_>> = numbers.collect();
    let others = numbers?.into_iter().flatten().map(DiskNumber);
    Ok(others.filter(|other| *other != disk.number).collect())
}
