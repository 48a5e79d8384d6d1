//! The disks that hold page files and crash dumps.

use std::collections::BTreeMap;

use os::{Deadline, DiskNumber, WinPath};

use super::{DiskError, Guarded};
use crate::bounded::race;
use crate::in_flight::{ANSWER_WITHIN, Object};
use crate::unpoisoned::Unpoisoned;
use crate::volumes::{self, target};
use crate::{Node, ResolvedPath, TargetError, Unfinished};

const LOOK: &str = "look at";

/// Why it is not known which disks hold page files and the crash dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingUnknown {
    /// The system did not report their places, or the disks of their volume.
    #[error(transparent)]
    Os(#[from] os::Error),
    /// The volume on which one is was not found.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The query has not ended.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

/// The disks that are known to hold one.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    disks: BTreeMap<DiskNumber, Guarded>,
    /// Why other disks may hold one, too; `None` if these are all.
    pub(super) unknown: Option<PagingUnknown>,
}

impl Learned {
    /// The guard of this disk, if it is known to hold one.
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

/// The queries of a node; all callers that wait for their turn share the next one.
#[derive(Debug, Default)]
pub(crate) struct PagingReads(Unpoisoned<Reads>);

#[derive(Debug, Default)]
struct Reads {
    began: u64,
    /// The latest query that ended, by its number.
    ended: Option<(u64, Result<Learned, PagingUnknown>)>,
}

impl PagingReads {
    /// How many queries have begun.
    fn began(&self) -> u64 {
        self.0.lock().began
    }

    /// The result of a query that began after `began`: the latest one, or that of `look`. Only one caller at a time
    /// may call this.
    fn after(
        &self,
        began: u64,
        look: impl FnOnce() -> Result<Learned, PagingUnknown>,
    ) -> Result<Learned, PagingUnknown> {
        let number = {
            let mut reads = self.0.lock();
            if let Some((_, learned)) = reads.ended.as_ref().filter(|(number, _)| *number > began) {
                return learned.clone();
            }
            reads.began += 1;
            reads.began
        };
        let learned = look();
        self.0.lock().ended = Some((number, learned.clone()));
        learned
    }
}

/// Looks for page files and crash dumps. They are on volumes of other disks, which may hang, while the caller may hold
/// the lock of a disk. So the query runs on a thread that may be left behind, one at a time. Callers that wait for
/// their turn share one query: each took milliseconds for the links on the way, and served the calls for many disks
/// one by one.
pub(super) fn learn(node: &Node, deadline: Deadline) -> Result<Learned, DiskError> {
    let clock = &*node.os().clock;
    let limit = deadline.min(Deadline::within(clock, ANSWER_WITHIN));
    let owned = node.clone();
    let began = node.state.paging_reads.began();
    let look = move || {
        let reads = &owned.state.paging_reads;
        let in_turn = || reads.after(began, || read_paging(&owned));
        owned.in_flight().at(&Object::PageFiles, in_turn)
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

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use os_sim::{ClockMode, Effect, Inventory, NodeSpec, Rule, SimNode};

    use super::*;
    use crate::Options;

    const CALLERS: usize = 8;

    /// A hundred unstages at once made a query each, one after the other, and the last ones were given
    /// up.
    #[test]
    fn callers_that_wait_for_one_look_share_the_next() {
        let spec = NodeSpec::named("node-1");
        let sim = SimNode::in_memory(&spec, Inventory::of(0), ClockMode::Virtual).unwrap();
        let node = Node::new(sim.os(), Options::default());
        let learns = || {
            let node = node.clone();
            thread::spawn(move || learn(&node, Deadline::NEVER).unwrap())
        };
        let hang = sim.faults().add(Rule::on("RegGetValueW", Effect::Hang));
        let first = learns();
        assert!(sim.faults().wait_until_hanging(1, Duration::from_secs(60)));
        let others: Vec<_> = (0..CALLERS).map(|_| learns()).collect();
        while node.in_flight().waiting() < CALLERS {
            thread::yield_now();
        }
        sim.take_trace();
        sim.faults().remove(hang);
        for caller in others.into_iter().chain([first]) {
            caller.join().unwrap();
        }
        let trace = sim.take_trace();
        let reads = trace.iter().filter(|op| op.object == "PagingFiles");
        assert_eq!(reads.count(), 1);
    }
}
