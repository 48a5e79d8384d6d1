//! Reading the disks of this node.

use std::collections::BTreeSet;

use formats::device_path;
use formats::location::Location;
use os::schema::disk;
use os::{Deadline, DiskFacts, DiskNumber, Instance, Query, Value, VolumeId, WinPath};

use super::proof::Kernel;
use super::query::{Criterion, DiskQuery};
use super::seen::{Excluded, FoundDisk, NotIdentified, SeenDisk};
use super::{hidden, name};
use crate::disks::lists::{self, Listed, SerialSource};
use crate::disks::{guard, identity};
use crate::provider::{ProviderError, sole};
use crate::volumes::{disk_of, target};
use crate::{
    DiskError, Node, ResolvedPath, TargetName, VolumeError, in_flight, local_rows, storage,
};

/// Finds the one disk that meets all of the query, among those that may be written. If the storage provider hides a
/// read-only clone, the clone is made writable first, so that the provider lists it ([`hidden`]).
///
/// # Errors
/// No disk matches, several match, or a candidate reports too little to decide; the storage provider does not answer;
/// whether a matching disk may be written is unknown.
pub(in crate::disks) fn find(
    node: &Node,
    wanted: &DiskQuery,
    deadline: Deadline,
) -> Result<FoundDisk, DiskError> {
    let found = match find_once(node, wanted, deadline)? {
        Err(none) if hidden::reveal(node, &none, deadline)? => find_once(node, wanted, deadline)?,
        found => found,
    };
    Ok(found.map_err(Box::new)?)
}

/// The disk behind a mounted folder, by all the properties that it reports.
pub(in crate::disks) fn find_at(
    node: &Node,
    path: &WinPath,
    deadline: Deadline,
) -> Result<FoundDisk, DiskError> {
    let (volume, disk) = behind(node, path)?;
    let seen = observe_one(node, disk, deadline)?;
    let wanted = DiskQuery::of(&seen).map_err(|source| DiskError::Untold { disk, source })?;
    let found = find(node, &wanted, deadline)?;
    match found.number() == disk && behind(node, path)? == (volume, disk) {
        true => Ok(found),
        false => Err(DiskError::NotTheFound {
            found: Box::new(found),
            now: Box::new(seen),
        }),
    }
}

fn behind(node: &Node, path: &WinPath) -> Result<(VolumeId, DiskNumber), DiskError> {
    let volume = target::mounted(node.os(), &ResolvedPath::from(path));
    let volume = volume.map_err(|error| Box::new(VolumeError::from(error)))?;
    let disk = disk_of(node.os(), volume).map_err(Box::new)?;
    Ok((volume, disk))
}

/// The properties for [`storage::Disk::read`], and the location.
fn select() -> Vec<&'static str> {
    [storage::Disk::SELECT, &[disk::LOCATION.name]].concat()
}

/// The one disk of the storage provider's list that matches.
fn find_once(
    node: &Node,
    wanted: &DiskQuery,
    deadline: Deadline,
) -> Result<Result<FoundDisk, NotIdentified>, DiskError> {
    let behind = Behind::ask(node, wanted, deadline)?;
    let rows = lists::rows(node, &select(), deadline)?;
    let query = wanted.clone();
    let seen = in_flight::each(
        node,
        "find disk",
        deadline,
        rows,
        move |node, (number, row)| {
            let disk = storage::Disk::read(*number, row.clone())?;
            let kernel = Kernel::ask(node, &disk);
            let (mut seen, _) = observe(node, (&disk, row, &kernel), &behind, &query)?;
            if seen.excluded.is_none() && query.matches(&seen) {
                let guarded = guard::of_candidate(node, &disk, deadline)?;
                seen.excluded = guarded.map(Excluded::Guarded);
            }
            let proof = kernel.proof(disk, seen.location.as_ref(), &query);
            Ok((seen, proof))
        },
    )?;
    let mut seen: Vec<_> = seen.into_iter().collect::<Result<_, DiskError>>()?;
    seen.sort_by_key(|(disk, _)| disk.number);
    let found = wanted.sole(seen.iter().map(|(disk, _)| disk.clone()).collect());
    Ok(found.map(|mut found| {
        let number = found.number();
        let mut its = seen.into_iter().filter(|(disk, _)| disk.number == number);
        // Of two objects of one number, neither is proved.
        found.proof = its
            .next()
            .filter(|_| its.next().is_none())
            .and_then(|(_, proof)| proof);
        found
    }))
}

/// Fails if another disk has the number now. To be called under the disk's lock, right before the change.
/// The guard decides whether the disk may be written.
///
/// # Errors
/// [`DiskError::NotTheFound`]; the provider does not know the disk; the provider, or the disk, does not
/// answer.
pub(in crate::disks) fn require(
    node: &Node,
    found: &FoundDisk,
    deadline: Deadline,
) -> Result<(), DiskError> {
    let number = found.number();
    let behind = Behind::ask(node, found.wanted(), deadline)?;
    let row = row(node, number, deadline)?;
    let disk = storage::Disk::read(number, row.clone())?;
    let kernel = Kernel::ask(node, &disk);
    let (now, silence) = observe(node, (&disk, &row, &kernel), &behind, found.wanted())?;
    match silence {
        _ if found.is_still(&now) => Ok(()),
        // It may be the same disk, which fails to report it: that error is more precise than "another
        // disk".
        Some(error @ DiskError::Kernel { .. }) if found.may_be(&now) => Err(error),
        _ => Err(DiskError::NotTheFound {
            found: Box::new(found.clone()),
            now: Box::new(now),
        }),
    }
}

/// The properties that one disk reports, once kernel and provider have the same view of it; rescans if they
/// differ. A serial number that only the provider reports is left out: it selects no disk.
pub(super) fn observe_one(
    node: &Node,
    number: DiskNumber,
    deadline: Deadline,
) -> Result<SeenDisk, DiskError> {
    identity::find(node, number, deadline)?;
    let row = row(node, number, deadline)?;
    let disk = storage::Disk::read(number, row.clone())?;
    let nobody = Behind(Vec::new());
    let kernel = Kernel::ask(node, &disk);
    let reported = (&disk, &row, &kernel);
    let (mut seen, silence) = observe(node, reported, &nobody, &DiskQuery::nothing())?;
    if let Some(error) = silence {
        return Err(error);
    }
    let serial = Listed::read(&row)?.serial_by_source(node, &kernel);
    if matches!(serial, SerialSource::ProviderAlone(_)) {
        seen.serial = None;
    }
    Ok(seen)
}

fn row(node: &Node, number: DiskNumber, deadline: Deadline) -> Result<Instance, DiskError> {
    let properties = select();
    let query =
        Query::all(disk::CLASS.name, &properties).with(disk::NUMBER.name, Value::uint32(number.0));
    let rows = local_rows::query(node, &query, deadline);
    let rows = rows.map_err(ProviderError::from)?;
    Ok(sole(&format_args!("disk {number}"), rows)?)
}

/// The disks behind sessions with iSCSI targets.
struct Behind(Vec<(TargetName, BTreeSet<DiskNumber>)>);

impl Behind {
    /// Queries the initiator, only for the targets of the query.
    fn ask(node: &Node, wanted: &DiskQuery, deadline: Deadline) -> Result<Self, DiskError> {
        let iscsi = node.operations().iscsi();
        let ask = |(target, portal): (&TargetName, Option<&_>)| {
            let disks = match portal {
                Some(portal) => iscsi.disks(portal, target, deadline),
                None => iscsi.disks_of_sessions(target, deadline),
            };
            disks.map(|disks| (target.clone(), disks))
        };
        let criteria = wanted.criteria().iter();
        let targets = criteria.filter_map(Criterion::iscsi_target);
        let asked: Result<_, _> = targets.map(ask).collect();
        Ok(Self(asked.map_err(Box::new)?))
    }

    fn targets(&self, disk: DiskNumber) -> Vec<TargetName> {
        let lead_there = self.0.iter().filter(|(_, disks)| disks.contains(&disk));
        lead_there.map(|(target, _)| target.clone()).collect()
    }
}

/// What kernel and provider report about a disk. The disk is silent, with a reason, unless both certainly
/// mean the same disk, and if it lacks a property of the query.
fn observe(
    node: &Node,
    (disk, row, kernel): (&storage::Disk, &Instance, &Kernel),
    behind: &Behind,
    wanted: &DiskQuery,
) -> Result<(SeenDisk, Option<DiskError>), ProviderError> {
    let number = disk.number;
    let location = row.text_or_null(disk::LOCATION.name)?;
    let serial = Listed::read(row)?.serial_by_source(node, kernel);
    let mut seen = SeenDisk {
        iscsi_targets: behind.targets(number),
        location: location.and_then(|text| Location::parse(text).ok()),
        serial: serial.text().map(str::to_owned),
        ..SeenDisk::numbered(number)
    };
    let silence = add_kernels(node, (disk, kernel), &mut seen, &serial, wanted).err();
    let silent = silence.as_ref().map(DiskError::to_string);
    let silent = silent
        .or_else(|| unproved(&serial, wanted))
        .or_else(|| unsettled(disk, &seen, wanted));
    seen.excluded = match guard::by_marks(disk) {
        Ok(Some(reason)) => Some(Excluded::Guarded(reason)),
        Ok(None) => silent.map(Excluded::Silent),
        Err(unread) => Some(Excluded::Silent(unread.to_string())),
    };
    Ok((seen, silence))
}

/// The provider may still report the serial number of the previous disk in this slot: it can exclude a
/// disk, never select one.
fn unproved(serial: &SerialSource, wanted: &DiskQuery) -> Option<String> {
    let is_unproved = matches!(serial, SerialSource::ProviderAlone(_)) && wanted.asks_for_serial();
    is_unproved.then(|| "only the storage provider tells its serial number".to_owned())
}

/// Why this disk may have a requested namespace.
fn unsettled(disk: &storage::Disk, seen: &SeenDisk, wanted: &DiskQuery) -> Option<String> {
    let placed = placed(disk);
    let is_open = seen.namespace.is_none() && wanted.asks_for_namespace();
    let text = match placed.as_slice() {
        [] => return None,
        [_] => "its path and its serial number tell different namespaces".to_owned(),
        several if !several.iter().any(|one| wanted.may_mean_namespace(*one)) => return None,
        several => format!(
            "its path tells namespace {}, and neither its serial number nor its SCSI address which",
            several
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(" or ")
        ),
    };
    is_open.then_some(text)
}

fn placed(disk: &storage::Disk) -> Vec<u32> {
    let path = disk.device_path.as_deref();
    path.map(device_path::namespaces).unwrap_or_default()
}

/// Adds length, identifiers and namespace. The kernel's answers are kept even if another property is
/// uncertain: they may exclude the disk.
fn add_kernels(
    node: &Node,
    (disk, kernel): (&storage::Disk, &Kernel),
    seen: &mut SeenDisk,
    serial: &SerialSource,
    wanted: &DiskQuery,
) -> Result<(), DiskError> {
    let (facts, failed) = (&kernel.facts, DiskError::kernel(disk.number));
    let page = lists::read_page(disk.number, facts.device_id_page.clone()).map_err(&failed);
    let length = facts.length.clone().map_err(&failed);
    match (&page, serial) {
        (Ok(page), _) => {
            seen.identifiers = page.texts();
            seen.utf8_names = page.utf8_names();
        }
        (Err(_), SerialSource::KernelAlone(_)) => {}
        (Err(_), _) => seen.identifiers = listed_identifier(disk, wanted),
    }
    seen.size = length.as_ref().ok().copied();
    kernel.require_same(node, disk).inspect_err(|error| {
        if matches!(error, DiskError::ViewsDiffer { .. }) {
            // The provider's place and identifier are another disk's.
            seen.location = None;
            if page.is_err() {
                seen.identifiers.clear();
            }
        }
    })?;
    seen.namespace = namespace(disk, facts, seen.serial.as_deref());
    length?;
    match wanted.asks_for_page83() {
        true => page.map(drop),
        false => Ok(()),
    }
}

/// The namespace in the path, unless the serial number has another: then neither decides. If the path reads two ways
/// and the serial number has no namespace, the logical unit of the disk's SCSI address plus one decides, as the path
/// has the number less one.
fn namespace(disk: &storage::Disk, facts: &DiskFacts, serial: Option<&str>) -> Option<u32> {
    let placed = placed(disk);
    let reported = serial.and_then(name::namespace_behind);
    let addressed = || {
        let address = facts.scsi_address.as_ref().ok()?;
        Some(u32::from(address.lun) + 1)
    };
    let settled = match placed.as_slice() {
        [one] => reported.or(Some(*one)),
        [] => None,
        _ => reported.or_else(addressed),
    };
    settled.filter(|namespace| placed.contains(namespace))
}

/// The provider's identifier of a disk that does not report its page 0x83, if the query has an identifier.
/// One disk that does not answer must not keep all others from being found by their names. The provider has
/// only one of the page's identifiers, so it decides nothing about an identifier of another kind.
fn listed_identifier(disk: &storage::Disk, wanted: &DiskQuery) -> Vec<String> {
    let listed = disk.unique_id.iter();
    let listed = listed.filter(|id| wanted.asks_for_page83() && wanted.is_answered_by(id));
    listed.cloned().collect()
}
