//! Finding a disk in what csi-proxy lists.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use node::Criterion;
use node::DiskQuery;
use node::FoundDisk;
use node::SeenDisk;
use node::api::Cause;
use node::api::Condition;
use node::api::Disks;
use node::api::Error;
use node::api::Iscsi;
use node::api::Result;
use os::Deadline;
use os::DiskNumber;

use super::Read;
use crate::Node;

/// Finds the one disk that all of this is true of.
pub(super) fn find(node: &Node, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk> {
    let failed = |cause| Error::new("find the disk with", wanted, cause);
    expressible(wanted).map_err(failed)?;
    let disks = list(node, wanted, deadline)?;
    let found = wanted.sole(disks).map_err(Box::new);
    found.map_err(|error| failed(Cause::NotIdentified(error)))
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

/// What csi-proxy leaves out of its lists cannot be asked for, and is never passed over.
fn expressible(wanted: &DiskQuery) -> Read<()> {
    let mut criteria = wanted.criteria().iter();
    match criteria.find(|criterion| !is_listed(criterion)) {
        None => Ok(()),
        Some(criterion) => {
            let text = format!("csi-proxy lists no disk by its {criterion}");
            Err(Cause::Inexpressible(text))
        }
    }
}

fn is_listed(criterion: &Criterion) -> bool {
    matches!(
        criterion,
        Criterion::Adapter(_)
            | Criterion::Bus(_)
            | Criterion::IscsiTarget { .. }
            | Criterion::Lun(_)
            | Criterion::Page83(_)
            | Criterion::Serial(_)
            | Criterion::Size(_)
            | Criterion::Target(_)
    )
}

fn list(node: &Node, wanted: &DiskQuery, deadline: Deadline) -> Result<Vec<SeenDisk>> {
    let mut locations = node.locations(deadline)?;
    let mut ids = match node.ids(deadline) {
        Err(Error {
            cause: Cause::NeedsVersion { .. },
            ..
        }) if !asks_for_names(wanted) => BTreeMap::new(),
        ids => ids?,
    };
    let mut behind = Vec::new();
    for (portal, target) in wanted.iscsi_targets() {
        behind.push((target, Iscsi::disks(node, portal, target, deadline)?));
    }
    let numbers: BTreeSet<_> = locations.keys().chain(ids.keys()).copied().collect();
    let mut disks = Vec::new();
    for number in numbers {
        let ids = ids.remove(&number).unwrap_or_default();
        let leads = behind.iter().filter(|(_, disks)| disks.contains(&number));
        disks.push(SeenDisk {
            iscsi_targets: leads.map(|(target, _)| (*target).clone()).collect(),
            location: locations.remove(&number),
            identifiers: named(ids.page83).into_iter().collect(),
            serial: named(ids.serial),
            size: size(node, wanted, number, deadline)?,
            ..SeenDisk::numbered(number)
        });
    }
    Ok(disks)
}

fn asks_for_names(wanted: &DiskQuery) -> bool {
    let mut criteria = wanted.criteria().iter();
    criteria.any(|one| matches!(one, Criterion::Page83(_) | Criterion::Serial(_)))
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
    let mut criteria = wanted.criteria().iter();
    if !criteria.any(|one| matches!(one, Criterion::Size(_))) {
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
