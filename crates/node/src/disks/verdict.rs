//! What the guard decides of each disk, for those who look after the node.

use std::collections::BTreeMap;
use std::fmt;

use os::{Deadline, DiskNumber, Instance};

use super::paging::{self, PagingUnknown};
use super::{DiskError, Guarded, guard, lists};
use crate::{Node, in_flight, storage};

/// What the guard decides of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It may be changed.
    Allowed,
    /// It is never written.
    Guarded(Guarded),
    /// It may hold a page file or a crash dump. It is brought online, and overwritten where it is proved blank; by
    /// [`crate::DiskGuard::Refuse`] nothing else changes it.
    PagingUnknown(PagingUnknown),
    /// It is not written, as what decides cannot be read.
    Unread(Box<DiskError>),
}

/// The same for everybody: of a failure only that there is one, as its text may name what others made.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed => f.write_str("may be changed"),
            Self::Guarded(reason) => write!(f, "is never written: {reason}"),
            Self::PagingUnknown(_) => {
                f.write_str("may hold a page file or a crash dump, as not all of them are known")
            }
            Self::Unread(_) => f.write_str("is not written: what decides cannot be read"),
        }
    }
}

impl Verdict {
    /// The failure behind it, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<&dyn std::error::Error> {
        match self {
            Self::Allowed | Self::Guarded(_) => None,
            Self::PagingUnknown(unknown) => Some(unknown),
            Self::Unread(error) => Some(error),
        }
    }
}

/// The verdict of each disk that the storage provider lists.
///
/// # Errors
/// The storage provider does not answer, or the deadline passed.
pub(super) fn all(
    node: &Node,
    deadline: Deadline,
) -> Result<BTreeMap<DiskNumber, Verdict>, DiskError> {
    let rows = lists::rows(node, storage::Disk::SELECT, deadline)?;
    let learned = paging::learn(node, deadline)?;
    let judge = move |node: &Node, (number, row): &(DiskNumber, Instance)| {
        let own = own(node, *number, row);
        let verdict = match own {
            Err(error) => Verdict::Unread(Box::new(error)),
            Ok(own) => of(own.or_else(|| learned.on(*number)), &learned),
        };
        (*number, verdict)
    };
    let judged = in_flight::each(node, "judge disks", deadline, rows, judge)?;
    Ok(judged.into_iter().collect())
}

fn of(guarded: Option<Guarded>, learned: &paging::Learned) -> Verdict {
    let unknown = || learned.unknown.clone().map(Verdict::PagingUnknown);
    let guarded = guarded.map(Verdict::Guarded);
    guarded.or_else(unknown).unwrap_or(Verdict::Allowed)
}

fn own(node: &Node, number: DiskNumber, row: &Instance) -> Result<Option<Guarded>, DiskError> {
    let disk = storage::Disk::read(number, row.clone())?;
    if let Some(known) = guard::by_marks(&disk)? {
        return Ok(Some(known));
    }
    let layout = node.os().disks.layout(number);
    let layout = layout.map_err(DiskError::kernel(number))?;
    Ok(guard::reason(&disk, &layout)?)
}
