//! The guard's verdict on each disk, for those who operate the node.

use std::collections::BTreeMap;
use std::fmt;

use os::{Deadline, DiskNumber, Instance};

use super::paging::{self, PagingUnknown};
use super::{DiskError, Guarded, guard, lists};
use crate::{Disks, Node, in_flight, storage};

/// The guard's verdict on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The disk may be changed.
    Allowed,
    /// The disk is never written.
    Guarded(Guarded),
    /// The disk may hold a page file or a crash dump. It may come online, and be overwritten where it is proved
    /// blank; under [`crate::DiskGuard::Refuse`] no other change is allowed.
    PagingUnknown(PagingUnknown),
    /// The disk is not written, as its guards cannot be read.
    Unread(Box<DiskError>),
}

/// The same text for all readers: a failure is not detailed, as its text may have names that others
/// made.
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
    /// The failure behind the verdict, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<&dyn std::error::Error> {
        match self {
            Self::Allowed | Self::Guarded(_) => None,
            Self::PagingUnknown(unknown) => Some(unknown),
            Self::Unread(error) => Some(error),
        }
    }
}

impl Disks<'_> {
    /// The guard's verdict on each disk. A disk that hangs is waited for ten seconds, as in other lists.
    ///
    /// # Errors
    /// The storage provider does not answer, or the deadline passed.
    pub fn verdicts(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Verdict>, DiskError> {
        let rows = lists::rows(self.node, storage::Disk::SELECT, deadline)?;
        let learned = paging::learn(self.node, deadline)?;
        let judge = move |node: &Node, (number, row): &(DiskNumber, Instance)| {
            let own = own(node, *number, row);
            let verdict = match own {
                Err(error) => Verdict::Unread(Box::new(error)),
                Ok(own) => of(own.or_else(|| learned.on(*number)), &learned),
            };
            (*number, verdict)
        };
        let judged = in_flight::each(self.node, "judge disks", deadline, rows, judge)?;
        Ok(judged.into_iter().collect())
    }
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
    Ok(guard::reason(&disk, &node.disk_layout(number)?)?)
}
