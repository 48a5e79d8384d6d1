//! The disks that hold page files and crash dumps.

use std::collections::BTreeMap;

use os::{Deadline, DiskNumber, WinPath};

use super::{DiskError, Guarded};
use crate::bounded::race;
use crate::in_flight::{ANSWER_WITHIN, Object};
use crate::volumes::{self, target};
use crate::{Node, ResolvedPath, TargetError, Unfinished};

const LOOK: &str = "look at";

/// Why it is not known which disks hold page files and the crash dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingUnknown {
    /// The system did not say where they are, or on which disks their volume is.
    #[error(transparent)]
    Os(#[from] os::Error),
    /// The volume on which one is was not found.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The look at them has not ended.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

/// What is known of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    disks: BTreeMap<DiskNumber, Guarded>,
    /// Why other disks may hold one, too; none where these are all.
    pub(super) unknown: Option<PagingUnknown>,
}

impl Learned {
    /// What is known to be on the disk.
    pub(super) fn on(&self, disk: DiskNumber) -> Option<Guarded> {
        self.disks.get(&disk).copied()
    }

    fn nothing(unknown: PagingUnknown) -> Self {
        Self {
            disks: BTreeMap::new(),
            unknown: Some(unknown),
        }
    }
}

/// Looks for them. They are on volumes of other disks, which may hang; and the caller may hold the lock of a disk.
/// So the look is made on a thread that is left behind then, one at a time.
///
/// # Errors
/// The deadline passed.
pub(super) fn learn(node: &Node, deadline: Deadline) -> Result<Learned, DiskError> {
    let clock = &*node.os().clock;
    let limit = deadline.min(Deadline::within(clock, ANSWER_WITHIN));
    let owned = node.clone();
    let look = move || {
        owned
            .in_flight()
            .at(&Object::PageFiles, || read_paging(&owned))
    };
    Ok(match race(clock, LOOK, limit, look) {
        Ok(Ok(learned)) => learned,
        Ok(Err(unknown)) => Learned::nothing(unknown),
        Err(Unfinished::Deadline { .. }) => {
            node.check(deadline, LOOK, &Object::PageFiles)?;
            Learned::nothing(Unfinished::not_answering(LOOK, &Object::PageFiles).into())
        }
        Err(unfinished) => Learned::nothing(unfinished.into()),
    })
}

fn read_paging(node: &Node) -> Result<Learned, PagingUnknown> {
    let paging = node.os().boot.paging()?;
    let mut learned = Learned {
        disks: BTreeMap::new(),
        unknown: paging.unknown.map(Into::into),
    };
    let page_files = paging.page_files.iter();
    let page_files = page_files.map(|path| (path, Guarded::PageFile));
    let crash_dump = paging.crash_dump.iter();
    let crash_dump = crash_dump.map(|path| (path, Guarded::CrashDump));
    for (path, reason) in page_files.chain(crash_dump) {
        match disks_with(node, path) {
            Ok(disks) => {
                for disk in disks {
                    learned.disks.entry(disk).or_insert(reason);
                }
            }
            Err(unknown) => {
                learned.unknown.get_or_insert(unknown);
            }
        }
    }
    Ok(learned)
}

/// The disks that hold the file's volume. A drive that does not exist is on none.
fn disks_with(node: &Node, file: &WinPath) -> Result<Vec<DiskNumber>, PagingUnknown> {
    let folder = file.parent().unwrap_or_else(|| file.clone());
    let above = target::Missing::LookAbove;
    let volume = match target::closest(node.os(), &ResolvedPath::from(&folder), above) {
        Ok(volume) => volume,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    Ok(volumes::disks_of(node.os(), volume)?.into_iter().collect())
}
