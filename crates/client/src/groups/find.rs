//! Finding a disk in what csi-proxy lists.

use std::collections::{BTreeMap, BTreeSet};

use node::api::{Cause, Condition, Disks, Error, Iscsi, Result, Volumes};
use node::{Criterion, DiskQuery, Excluded, FoundDisk, SeenDisk};
use os::{Deadline, DiskNumber, VolumeId, WinPath};

use super::{Read, is_too_old, unsupported};
use crate::Node;

/// Finds the one disk that all of this is true of.
pub(super) fn find(node: &Node, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk> {
    let failed = |cause| Error::new("find the disk with", wanted, cause);
    require_listed(wanted).map_err(failed)?;
    let disks = list(node, wanted, deadline)?;
    let found = wanted.sole(disks).map_err(Box::new);
    found.map_err(|error| failed(Cause::NotIdentified(error)))
}

/// Finds the disk of the volume that is mounted where a path leads by links, from csi-proxy's lists.
pub(super) fn find_at(node: &Node, path: &WinPath, deadline: Deadline) -> Result<FoundDisk> {
    let failed = |cause| Error::new("find the disk at", path, cause);
    let (volume, disk) = behind(node, path, deadline)?;
    let mut seen = SeenDisk::numbered(disk);
    seen.location = node.locations(deadline)?.remove(&disk);
    if let Some(ids) = node.ids(deadline)?.remove(&disk) {
        seen.identifiers = named(ids.page83).into_iter().collect();
        seen.serial = named(ids.serial);
    }
    let wanted = DiskQuery::of(&seen);
    let wanted = wanted.map_err(|lack| failed(Cause::failed(Condition::Uncertain, lack)))?;
    let found = find(node, &wanted, deadline)?;
    match found.number() == disk && behind(node, path, deadline)? == (volume, disk) {
        true => Ok(found),
        false => {
            let text = format!("it was on {seen}, and is not any more");
            Err(failed(Cause::failed(Condition::Changed, text)))
        }
    }
}

fn behind(node: &Node, path: &WinPath, deadline: Deadline) -> Result<(VolumeId, DiskNumber)> {
    let volume = node.of_target(path, deadline)?;
    Ok((volume, node.disk_number(volume, deadline)?))
}

/// Refuses to go on when another disk has the number of the one that was found. No lock is held meanwhile:
/// csi-proxy has none to offer.
pub(super) fn require(
    node: &Node,
    operation: &'static str,
    found: &FoundDisk,
    deadline: Deadline,
) -> Result<()> {
    let disks = list(node, found.wanted(), deadline)?;
    let now = disks.iter().find(|disk| disk.number == found.number());
    let (condition, text) = match now {
        Some(now) if found.is_still(now) => return Ok(()),
        Some(now) => (
            Condition::Changed,
            format!("found {}; now {now}", found.seen()),
        ),
        None => (Condition::NotFound, format!("it is gone: {}", found.seen())),
    };
    let cause = Cause::failed(condition, text);
    Err(Error::new(operation, found.number(), cause))
}

/// Properties that csi-proxy's lists omit cannot be queried, so a query with one is refused, never
/// shortened.
fn require_listed(wanted: &DiskQuery) -> Read<()> {
    let mut criteria = wanted.criteria().iter();
    let lacking = |criterion: &Criterion| Some((criterion.to_string(), criterion.feature()?));
    match criteria.find_map(lacking) {
        None => Ok(()),
        Some((criterion, feature)) => {
            let what = format_args!("finding a disk by its {criterion}");
            Err(unsupported(what, feature))
        }
    }
}

/// All disks of any list. csi-proxy omits disks that do not answer, so a disk without names or length is silent
/// if the query needs them. The list of locations omits disks without a LUN, such as the disks of containers;
/// that is answer enough.
fn list(node: &Node, wanted: &DiskQuery, deadline: Deadline) -> Result<Vec<SeenDisk>> {
    let mut locations = node.locations(deadline)?;
    let mut ids = match node.ids(deadline) {
        Err(error) if is_too_old(&error) && !asks(wanted, Criterion::is_name) => BTreeMap::new(),
        ids => ids?,
    };
    let mut behind = Vec::new();
    for (portal, target) in wanted.iscsi_targets() {
        behind.push((target, Iscsi::disks(node, portal, target, deadline)?));
    }
    let numbers: BTreeSet<_> = locations.keys().chain(ids.keys()).copied().collect();
    let mut disks = Vec::new();
    for number in numbers {
        let leads = behind.iter().filter(|(_, disks)| disks.contains(&number));
        let ids = ids.remove(&number);
        let size = size(node, wanted, number, deadline)?;
        let silence = [
            (ids.is_none(), Criterion::is_name as Kind, "names"),
            (size.is_none(), is_size, "length"),
        ];
        let ids = ids.unwrap_or_default();
        let mut seen = SeenDisk::numbered(number);
        seen.iscsi_targets = leads.map(|(target, _)| (*target).clone()).collect();
        seen.location = locations.remove(&number);
        seen.identifiers = named(ids.page83).into_iter().collect();
        seen.serial = named(ids.serial);
        seen.size = size;
        seen.excluded = excluded(wanted, &silence);
        disks.push(seen);
    }
    Ok(disks)
}

type Kind = fn(&Criterion) -> bool;

/// Excludes a disk for properties that the query needs and the lists lack.
fn excluded(wanted: &DiskQuery, silence: &[(bool, Kind, &str)]) -> Option<Excluded> {
    let mut missing = silence.iter().filter(|(is_missing, ..)| *is_missing);
    let (_, _, what) = missing.find(|(_, kind, _)| asks(wanted, *kind))?;
    Some(Excluded::Silent(format!(
        "csi-proxy does not tell its {what}"
    )))
}

fn asks(wanted: &DiskQuery, kind: Kind) -> bool {
    wanted.criteria().iter().any(kind)
}

fn is_size(criterion: &Criterion) -> bool {
    matches!(criterion, Criterion::Size(_))
}

fn named(name: String) -> Option<String> {
    Some(name).filter(|name| !name.is_empty())
}

/// The length of a disk, if lengths count: each takes a call. A disk that does not tell has none.
fn size(
    node: &Node,
    wanted: &DiskQuery,
    number: DiskNumber,
    deadline: Deadline,
) -> Result<Option<u64>> {
    if !asks(wanted, is_size) {
        return Ok(None);
    }
    match node.size(number, deadline) {
        Err(Error {
            cause: Cause::Failed { .. },
            ..
        }) => Ok(None),
        size => size.map(Some),
    }
}
