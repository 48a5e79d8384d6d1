//! Queries of disks, volumes and files, which may never end.
//!
//! A control code that hangs in a dead disk cannot be cancelled, and its thread is lost until the disk answers or is
//! gone. So that callers who repeat lose only one thread for an object, one query of an object runs at a time. The
//! next caller waits for it, by the node's clock for [`ANSWER_WITHIN`] at most (for a flush [`WRITTEN_WITHIN`]). After
//! that the object counts as not answering: each further query fails at once ([`Cause::NotAnswering`]), until the one
//! that hangs has ended. Operations treat it like any failing disk or volume: a list omits it, a look-up counts it as
//! silent, and a call about the object itself fails.
//!
//! Queries of files run side by side, [`ABREAST`] at a time, until one of them is as old as that: a path may lead to a
//! share that answers each only after seconds. Queries for the volume of a drive run [`DRIVE_ABREAST`] at a time.
//!
//! The limit sits beneath the operations, in their view of the system ([`seam`]), so that no query escapes
//! it. Queries of the disks and volumes of others, in which a caller would hang for nothing, run on a thread
//! that may be left behind ([`each`]).
//!
//! A query of a file counts for its volume if the path begins with a volume's id, as behind a mounted folder that a
//! [`ResolvedPath`](crate::ResolvedPath) was followed through; otherwise it counts for the path. So a hang costs at
//! most [`ABREAST`] threads for each volume id and path.

mod each;
mod seam;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

use os::{Cause, Clock, Deadline, DiskNumber, Moment, VolumeId};

pub(crate) use self::each::each;
pub(crate) use self::seam::guarded;
use crate::Waits;
use crate::poll::SLICE;
use crate::unpoisoned::{self, Unpoisoned};

/// How long a query may take before its object counts as not answering. Healthy disks answer in
/// milliseconds; one that has to spin up, or whose path fails over, may need seconds.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How long a flush may take. It may have gigabytes to write, and a caller that receives an error may remove the
/// disk.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10 * 60);

/// How long a query of a share may take. Windows gives a dead server up to a minute, and callers for shares
/// have limits of their own.
const SHARE_WITHIN: Duration = Duration::from_secs(2 * 60);

/// How many queries of one volume's files, or of one path, run at a time: at most so many threads are
/// lost.
const ABREAST: usize = 8;

/// How many queries run at a time for the volume of a drive, or for the mount manager's name of that volume. Each call
/// with a path makes both several times for drive C. One at a time, a hundred stages of as many disks were as slow as
/// four in a row.
const DRIVE_ABREAST: usize = 64;

/// The object of a query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    /// Where a volume is mounted, as the mount manager reports it.
    AccessPaths(VolumeId),
    /// A volume's cache. A flush may take long on a healthy volume.
    Cache(VolumeId),
    /// Whether the node has it.
    ClusterService,
    Disk(DiskNumber),
    /// The volume of a drive, or of a volume's own name, as the mount manager reports it.
    Drive(String),
    /// The files of a volume, by paths that begin with its id.
    Files(VolumeId),
    /// By its name in lower case.
    Folder(String),
    /// Where the system writes page files and crash dumps, on any volume.
    PageFiles,
    /// An entry by a path from a drive or share, in lower case, wherever links on it lead.
    Path(String),
    Volume(VolumeId),
}

impl Object {
    /// How many queries of the object may run at a time.
    fn abreast(&self) -> usize {
        match self {
            Self::Drive(_) => DRIVE_ABREAST,
            Self::Files(_) | Self::Path(_) => ABREAST,
            _ => 1,
        }
    }

    /// How old a query may get before it counts as one that does not end.
    fn patience(&self) -> Duration {
        match self {
            Self::Cache(_) => WRITTEN_WITHIN,
            Self::Path(path) if path.starts_with(r"\\") => SHARE_WITHIN,
            _ => ANSWER_WITHIN,
        }
    }

    /// A name safe in other callers' errors: it has no name from another call or a link, as drivers match on
    /// texts.
    pub(crate) fn name_for_others(&self) -> String {
        match self {
            Self::Folder(_) | Self::Path(_) => "a path".to_owned(),
            named => named.to_string(),
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AccessPaths(volume) => write!(f, "the paths of volume {volume}"),
            Self::Cache(volume) => write!(f, "the cache of volume {volume}"),
            Self::ClusterService => f.write_str("the cluster service"),
            Self::Disk(disk) => write!(f, "disk {disk}"),
            Self::Drive(path) => write!(f, "drive {path}"),
            Self::Files(volume) => write!(f, "the files of volume {volume}"),
            Self::Folder(path) => write!(f, "folder {path}"),
            Self::PageFiles => f.write_str("the page files"),
            Self::Path(path) => write!(f, "path {path}"),
            Self::Volume(volume) => write!(f, "volume {volume}"),
        }
    }
}

/// The queries of a node that are under way: up to the limit of each object, and no entry for an
/// idle one.
#[derive(Clone)]
pub(crate) struct InFlight {
    table: Arc<Unpoisoned<Reads>>,
    clock: Arc<dyn Clock>,
    waits: Arc<dyn Waits>,
}

impl InFlight {
    pub(crate) fn new(clock: Arc<dyn Clock>, waits: Arc<dyn Waits>) -> Self {
        Self {
            table: Arc::default(),
            clock,
            waits,
        }
    }

    /// Queries an object, alone or with as many others as [`Object::abreast`] allows. `ask` must not query the
    /// same object through this.
    ///
    /// # Errors
    /// Those of `ask`; [`Cause::NotAnswering`] if an earlier query does not end, and then `ask` is not called.
    pub(crate) fn at<T, E: From<os::Error>>(
        &self,
        object: &Object,
        ask: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let _looking = self.begin(object)?;
        ask()
    }

    /// The object that this thread has queried for so long that nobody waits for it any more.
    pub(crate) fn lost(&self, thread: ThreadId) -> Option<Object> {
        let now = self.clock.now();
        let table = self.table.lock();
        let mut its = table.under_way.values().filter(|look| look.by == thread);
        let lost = its.find(|look| look.is_over(now));
        lost.map(|look| look.object.clone())
    }

    fn begin(&self, object: &Object) -> os::Result<InFlightGuard<'_>> {
        let mut table = self.table.lock();
        let patience = Deadline::within(&*self.clock, object.patience());
        let mut reported = None;
        loop {
            let now = self.clock.now();
            let Some((ticket, before)) = table.in_the_way(object, now) else {
                let ticket = table.enter(object, now);
                return Ok(InFlightGuard {
                    in_flight: self,
                    ticket,
                });
            };
            if before.is_given_up {
                return Err(not_answering(object));
            }
            // A caller whose wait cannot be reported waits all the same: the query has its own
            // limit.
            reported.get_or_insert_with(|| self.waits.begin());
            let is_moved;
            (table, is_moved) = wait(table, object);
            let is_over = patience.left(&*self.clock).is_none();
            if !is_moved {
                table.give_up(ticket, self.clock.now());
            }
            if is_over {
                return Err(not_answering(object));
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.table.lock().waiting()
    }

    #[cfg(test)]
    fn under_way(&self) -> usize {
        self.table.lock().under_way.len()
    }
}

/// Waits a moment for a query of the object to end, and returns whether one did. It waits that moment also if the
/// clock says that the query is old: a leap of the clock must not make an object silent.
fn wait<'t>(mut table: MutexGuard<'t, Reads>, object: &Object) -> (MutexGuard<'t, Reads>, bool) {
    let ended = table.enqueue(object);
    let (mut table, is_moved) = unpoisoned::wait(&ended, table, SLICE);
    table.leave(object);
    (table, is_moved)
}

fn not_answering(object: &Object) -> os::Error {
    os::Error::new("look at", object, Cause::NotAnswering)
}

/// A query that is under way until this is dropped.
struct InFlightGuard<'a> {
    in_flight: &'a InFlight,
    ticket: u64,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let now = self.in_flight.clock.now();
        self.in_flight.table.lock().end(self.ticket, now);
    }
}

#[derive(Default)]
struct Reads {
    /// By their tickets, the oldest first.
    under_way: BTreeMap<u64, PendingRead>,
    next: u64,
    /// The end of a query wakes only the callers that wait for its object: a hundred calls at a time, each with many
    /// queries, would keep the processors busy with waking one another.
    queues: BTreeMap<Object, Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: usize,
    ended: Arc<Condvar>,
}

struct PendingRead {
    object: Object,
    since: Moment,
    by: ThreadId,
    /// Nobody waits for it any more.
    is_given_up: bool,
}

impl PendingRead {
    fn is_over(&self, now: Moment) -> bool {
        self.is_given_up || now >= self.since.after(self.object.patience())
    }
}

impl Reads {
    fn enter(&mut self, object: &Object, since: Moment) -> u64 {
        let ticket = self.next;
        self.next = self.next.wrapping_add(1);
        let look = PendingRead {
            object: object.clone(),
            since,
            by: thread::current().id(),
            is_given_up: false,
        };
        self.under_way.insert(ticket, look);
        ticket
    }

    /// The oldest query of the object, if it takes too long or the limit is reached.
    fn in_the_way(&self, object: &Object, now: Moment) -> Option<(u64, &PendingRead)> {
        let mut its = self
            .under_way
            .iter()
            .filter(|(_, look)| look.object == *object);
        let (ticket, oldest) = its.next()?;
        let is_full = its.count() + 1 >= object.abreast();
        (is_full || oldest.is_over(now)).then_some((*ticket, oldest))
    }

    /// Gives the query up if it has taken too long by now.
    fn give_up(&mut self, ticket: u64, now: Moment) {
        if let Some(look) = self.under_way.get_mut(&ticket) {
            look.is_given_up = look.is_over(now);
        }
    }

    fn enqueue(&mut self, object: &Object) -> Arc<Condvar> {
        let queue = self.queues.entry(object.clone()).or_default();
        queue.waiting += 1;
        Arc::clone(&queue.ended)
    }

    fn leave(&mut self, object: &Object) {
        if let Some(queue) = self.queues.get_mut(object) {
            queue.waiting -= 1;
            if queue.waiting == 0 {
                self.queues.remove(object);
            }
        }
    }

    /// The end of a query admits one waiter. The end of an old one wakes all: it kept them all waiting.
    fn end(&mut self, ticket: u64, now: Moment) {
        let Some(look) = self.under_way.remove(&ticket) else {
            return;
        };
        match self.queues.get(&look.object) {
            Some(queue) if look.is_over(now) => queue.ended.notify_all(),
            Some(queue) => queue.ended.notify_one(),
            None => {}
        }
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.queues.values().map(|queue| queue.waiting).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::JoinHandle;

    use super::*;
    use crate::poll::tests::HandClock;
    use crate::waits::Uncounted;

    const DISK: Object = Object::Disk(DiskNumber(3));
    /// Only a test that has failed already waits so long.
    const LONG: Duration = Duration::from_secs(60);

    fn in_flight() -> (InFlight, Arc<HandClock>) {
        let clock = Arc::new(HandClock::default());
        let in_flight = InFlight::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(Uncounted));
        (in_flight, clock)
    }

    fn nothing() -> os::Result<()> {
        Ok(())
    }

    /// Runs `meanwhile` while a look at the disk hangs.
    fn while_one_hangs(in_flight: &InFlight, meanwhile: impl FnOnce()) {
        let (release, released) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let in_flight = in_flight.clone();
        let hanging = thread::spawn(move || {
            in_flight.at(&DISK, || {
                begun.send(()).unwrap();
                released.recv().unwrap();
                nothing()
            })
        });
        begins.recv().unwrap();
        meanwhile();
        release.send(()).unwrap();
        hanging.join().unwrap().unwrap();
    }

    /// A query of the disk that waits for the hung one.
    fn waiter_for(in_flight: &InFlight) -> JoinHandle<os::Result<()>> {
        let others = in_flight.clone();
        let waiter = thread::spawn(move || others.at(&DISK, nothing));
        while in_flight.waiting() == 0 {
            thread::yield_now();
        }
        waiter
    }

    #[test]
    fn an_object_that_does_not_answer_is_told_at_once_after_its_time() {
        let (in_flight, clock) = in_flight();
        while_one_hangs(&in_flight, || {
            clock.advance(ANSWER_WITHIN);
            for _ in 0..1000 {
                let refused = in_flight.at(&DISK, || -> os::Result<()> { panic!("not asked") });
                assert_eq!(refused, Err(not_answering(&DISK)));
            }
            assert_eq!(in_flight.under_way(), 1);
        });
        assert_eq!(in_flight.at(&DISK, nothing), Ok(()));
        assert_eq!(in_flight.under_way(), 0);
    }

    #[test]
    fn files_are_looked_at_side_by_side_until_one_look_is_old() {
        let (in_flight, clock) = in_flight();
        let path = Object::Path(r"c:\x".to_owned());
        let hanging: Vec<_> = (1..ABREAST)
            .map(|_| in_flight.begin(&path).unwrap())
            .collect();
        assert_eq!(in_flight.at(&path, nothing), Ok(()));
        clock.advance(ANSWER_WITHIN);
        assert_eq!(in_flight.at(&path, nothing), Err(not_answering(&path)));
        assert_eq!(in_flight.under_way(), hanging.len());
        drop(hanging);
        assert_eq!(in_flight.at(&path, nothing), Ok(()));
        assert_eq!(in_flight.under_way(), 0);
    }

    /// A hundred calls for as many volumes all query the volume of drive C.
    #[test]
    fn callers_learn_side_by_side_which_volume_a_drive_is() {
        let (in_flight, _) = in_flight();
        let drive = Object::Drive(r"c:\".to_owned());
        let hanging: Vec<_> = (1..DRIVE_ABREAST)
            .map(|_| in_flight.begin(&drive).unwrap())
            .collect();
        assert_eq!(in_flight.at(&drive, nothing), Ok(()));
        drop(hanging);
        assert_eq!(in_flight.under_way(), 0);
    }

    #[test]
    fn another_object_is_looked_at_meanwhile() {
        let (in_flight, _) = in_flight();
        while_one_hangs(&in_flight, || {
            let other = Object::Disk(DiskNumber(4));
            assert_eq!(in_flight.at(&other, nothing), Ok(()));
            assert_eq!(in_flight.under_way(), 1);
        });
    }

    #[test]
    fn who_waits_is_served_when_the_look_has_ended() {
        let (in_flight, _) = in_flight();
        let mut waiter = None;
        while_one_hangs(&in_flight, || {
            waiter = Some(waiter_for(&in_flight));
        });
        assert_eq!(waiter.unwrap().join().unwrap(), Ok(()));
        assert_eq!(in_flight.under_way(), 0);
    }

    #[test]
    fn the_end_of_a_look_wakes_one_that_waits_for_its_object() {
        let (in_flight, _) = in_flight();
        let looking = in_flight.begin(&DISK).unwrap();
        let waiter = {
            let in_flight = in_flight.clone();
            thread::spawn(move || {
                let mut table = in_flight.table.lock();
                let ended = table.enqueue(&DISK);
                let (mut table, waited) = ended.wait_timeout(table, LONG).unwrap();
                table.leave(&DISK);
                !waited.timed_out()
            })
        };
        while in_flight.waiting() == 0 {
            thread::yield_now();
        }
        drop(looking);
        assert!(waiter.join().unwrap());
        assert_eq!(in_flight.waiting(), 0);
    }

    /// A caller that waits behind queries which all end in time does not wait for ever.
    #[test]
    fn who_has_waited_long_enough_goes() {
        let (in_flight, clock) = in_flight();
        while_one_hangs(&in_flight, || {
            let waiter = waiter_for(&in_flight);
            clock.advance(ANSWER_WITHIN);
            let refused = waiter.join().unwrap();
            assert_eq!(refused, Err(not_answering(&DISK)));
        });
    }

    #[test]
    fn a_look_that_panics_ends() {
        let (in_flight, _) = in_flight();
        let looking = in_flight.clone();
        let panicked =
            thread::spawn(move || looking.at(&DISK, || -> os::Result<()> { panic!("fell") }));
        assert!(panicked.join().is_err());
        assert_eq!(in_flight.under_way(), 0);
        assert_eq!(in_flight.at(&DISK, nothing), Ok(()));
    }
}
