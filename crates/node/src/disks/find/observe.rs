//! Looking at disks in this process.

use std::collections::BTreeSet;

use formats::device_path;
use formats::location::Location;
use os::Deadline;
use os::DiskNumber;
use os::Instance;
use os::Query;
use os::Value;
use os::schema::disk;

use super::query::DiskQuery;
use super::seen::Excluded;
use super::seen::FoundDisk;
use super::seen::SeenDisk;
use crate::DiskError;
use crate::Node;
use crate::TargetName;
use crate::disks::guard;
use crate::disks::identity;
use crate::disks::lists;
use crate::disks::lists::Listed;
use crate::provider::ProviderError;
use crate::provider::sole;
use crate::storage;

/// What [`storage::Disk::read`] reads, and the place.
const SELECT: &[&str] = &[
    disk::IS_BOOT.name,
    disk::IS_CLUSTERED.name,
    disk::IS_SYSTEM.name,
    disk::LOCATION.name,
    disk::NUMBER.name,
    disk::PARTITION_STYLE.name,
    disk::PATH.name,
    disk::SERIAL_NUMBER.name,
    disk::SIZE.name,
    disk::UNIQUE_ID.name,
    disk::UNIQUE_ID_FORMAT.name,
];

/// Finds the one disk that all of this is true of, among those that may be written.
///
/// # Errors
/// There is none, or several; the storage provider does not answer; it is not known whether a disk that
/// it is true of may be written.
pub(in crate::disks) fn find(
    node: &Node,
    wanted: &DiskQuery,
    deadline: Deadline,
) -> Result<FoundDisk, DiskError> {
    let behind = Behind::ask(node, wanted, deadline)?;
    let mut disks = Vec::new();
    for (number, row) in lists::rows(node, SELECT, deadline)? {
        let disk = storage::Disk::read(number, row.clone())?;
        let mut seen = observe(node, &disk, &row, &behind)?;
        if seen.excluded.is_none() && wanted.matches(&seen) {
            seen.excluded = guarded(node, &disk, deadline)?;
        }
        disks.push(seen);
    }
    disks.sort_by_key(|disk| disk.number);
    Ok(wanted.sole(disks).map_err(Box::new)?)
}

/// Refuses to go on when another disk has the number by now. To be called under the disk's lock, right
/// before it is changed. Whether it may be written is the guard's question.
///
/// # Errors
/// [`DiskError::NotTheFound`]; the provider does not know it, or does not answer.
pub(in crate::disks) fn require(
    node: &Node,
    found: &FoundDisk,
    deadline: Deadline,
) -> Result<(), DiskError> {
    let number = found.number();
    let behind = Behind::ask(node, found.wanted(), deadline)?;
    let query =
        Query::all(disk::CLASS.name, SELECT).with(disk::NUMBER.name, Value::uint32(number.0));
    let rows = node.os().storage.query(&query, deadline);
    let row = sole(
        &format_args!("disk {number}"),
        rows.map_err(ProviderError::from)?,
    )?;
    let disk = storage::Disk::read(number, row.clone())?;
    let now = observe(node, &disk, &row, &behind)?;
    match found.is_still(&now) {
        true => Ok(()),
        false => Err(DiskError::NotTheFound {
            found: Box::new(found.clone()),
            now: Box::new(now),
        }),
    }
}

/// The disks that sessions with iSCSI targets lead to.
struct Behind(Vec<(TargetName, BTreeSet<DiskNumber>)>);

impl Behind {
    /// Asks the initiator, of the targets that something is looked for behind alone.
    fn ask(node: &Node, wanted: &DiskQuery, deadline: Deadline) -> Result<Self, DiskError> {
        let ask = |(portal, target): (&_, &TargetName)| {
            let disks = node.iscsi().disks(portal, target, deadline);
            disks.map(|disks| (target.clone(), disks))
        };
        let asked: Result<_, _> = wanted.iscsi_targets().map(ask).collect();
        Ok(Self(asked.map_err(Box::new)?))
    }

    fn targets(&self, disk: DiskNumber) -> Vec<TargetName> {
        let mut targets = Vec::new();
        for (target, disks) in &self.0 {
            if disks.contains(&disk) {
                targets.push(target.clone());
            }
        }
        targets
    }
}

/// What kernel and provider tell of a disk, once it is certain that they mean the same.
fn observe(
    node: &Node,
    disk: &storage::Disk,
    row: &Instance,
    behind: &Behind,
) -> Result<SeenDisk, ProviderError> {
    let number = disk.number;
    let location = row.text_or_null(disk::LOCATION.name)?;
    let listed = Listed::read(row)?;
    let mut seen = SeenDisk {
        iscsi_targets: behind.targets(number),
        location: location.and_then(|text| Location::parse(text).ok()),
        ..SeenDisk::numbered(number)
    };
    match ask_kernel(node, disk) {
        Ok((size, identifiers)) => {
            seen.size = Some(size);
            seen.identifiers = identifiers;
            let serial = listed.serial(node, number);
            seen.serial = Some(serial).filter(|serial| !serial.is_empty());
            seen.namespace = disk.device_path.as_deref().and_then(device_path::namespace);
        }
        Err(error) => seen.excluded = Some(Excluded::Silent(error.to_string())),
    }
    if let Some(reason) = guard::by_flags(disk) {
        seen.excluded = Some(Excluded::Guarded(reason));
    }
    Ok(seen)
}

/// Length and identifiers.
fn ask_kernel(node: &Node, disk: &storage::Disk) -> Result<(u64, Vec<String>), DiskError> {
    identity::require_same(node, disk)?;
    let failed = DiskError::kernel(disk.number);
    let length = node.os().disks.length(disk.number).map_err(&failed)?;
    let page = lists::page(node, disk.number).map_err(&failed)?;
    Ok((length, page.texts()))
}

fn guarded(
    node: &Node,
    disk: &storage::Disk,
    deadline: Deadline,
) -> Result<Option<Excluded>, DiskError> {
    let layout = node.os().disks.layout(disk.number);
    let layout = layout.map_err(DiskError::kernel(disk.number))?;
    match guard::refuse(node, disk, &layout, deadline) {
        Err(DiskError::Guarded { reason, .. }) => Ok(Some(Excluded::Guarded(reason))),
        other => other.map(|()| None),
    }
}
