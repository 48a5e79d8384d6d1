//! Looks at disks, volumes and files, which may never end.
//!
//! A control code that hangs in a dead disk cannot be taken back, and its thread is lost until the disk
//! answers or is gone. So that no more than one is lost for an object, however often callers repeat, one
//! look at an object is under way at a time. The next caller waits for it, by the node's clock for
//! [`ANSWER_WITHIN`] at most (for a write of what is cached [`WRITTEN_WITHIN`]), and from then on the object is one that does not answer: each further look
//! fails at once ([`Cause::NotAnswering`]), until the one that hangs has ended. To an operation that is a
//! failing disk or volume like any other: a list leaves it out, a look-up counts it as silent, a call about
//! the object itself fails with it.
//!
//! Looks at files go side by side, [`ABREAST`] at a time, until one of them is as old as that: a path may lead to
//! a share that answers all of them, each after seconds. So do those for the volume of a drive, [`DRIVE_ABREAST`] at a
//! time.
//!
//! That is done beneath the operations, in what they see of the system ([`seam`]), so that no look can be
//! forgotten. Looks at the disks and volumes of others, which a caller would hang in for nothing, are made on
//! a thread that is left behind ([`each`]).
//!
//! A look at a file is about the volume where its path begins with a volume's id, as behind a mounted folder that a
//! [`ResolvedPath`](crate::ResolvedPath) was followed through; otherwise it is about the path. So a hang costs at most [`ABREAST`] threads
//! for each volume id and path.

mod each;
mod seam;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use os::{Cause, Clock, Deadline, DiskNumber, Moment, VolumeId};

pub(crate) use self::each::each;
pub(crate) use self::seam::guarded;
use crate::Waits;
use crate::poll::SLICE;

/// How long a look may take before its object counts as one that does not answer. Disks that live answer
/// in milliseconds; one that has to spin up, or whose path fails over, may need seconds.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How long a write of what is cached may take. It may honestly have gigabytes to write, and who is told that it
/// failed may take the disk away.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10 * 60);

/// How long a look at a share may take. Windows gives a dead server up to a minute, and the caller of a share
/// has limits of its own.
const SHARE_WITHIN: Duration = Duration::from_secs(2 * 60);

/// How many may look at one volume's files, or at one path, at a time: so many threads are lost at most.
const ABREAST: usize = 8;

/// How many may ask at a time which volume a drive is, or by which name the mount manager knows that volume. Each call
/// with a path asks both for drive C several times, and one at a time they took turns: a hundred stages of as many disks
/// were as slow as four in a row.
const DRIVE_ABREAST: usize = 64;

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    /// Where a volume is mounted, by the mount manager's word.
    AccessPaths(VolumeId),
    /// What a volume has cached. To write that may take long on a volume that answers well.
    Cache(VolumeId),
    Disk(DiskNumber),
    /// Which volume a drive, or a volume's own name, is, by the mount manager's word.
    Drive(String),
    /// What is in a volume, by paths that name it.
    Files(VolumeId),
    /// By its name in lower case.
    Folder(String),
    /// Where the system writes its memory, on whichever volumes that is.
    PageFiles,
    /// An entry by a path from a drive or share, in lower case, wherever links on it lead.
    Path(String),
    Volume(VolumeId),
}

impl Object {
    /// How many looks at it may be under way at a time.
    fn abreast(&self) -> usize {
        match self {
            Self::Drive(_) => DRIVE_ABREAST,
            Self::Files(_) | Self::Path(_) => ABREAST,
            _ => 1,
        }
    }

    /// How old a look at it may get before it counts as one that does not end.
    fn patience(&self) -> Duration {
        match self {
            Self::Cache(_) => WRITTEN_WITHIN,
            Self::Path(path) if path.starts_with(r"\\") => SHARE_WITHIN,
            _ => ANSWER_WITHIN,
        }
    }

    /// It, as those are told whom somebody else's look keeps waiting: without a name that another call or a link
    /// gave, in which could stand what drivers look for in texts.
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

/// The looks of a node that are under way: as many per object as may be, and no entry for any other.
#[derive(Clone)]
pub(crate) struct InFlight {
    table: Arc<Mutex<Reads>>,
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

    /// Looks at an object, which nobody else does meanwhile, or only so many ([`Object::abreast`]). Nothing that
    /// looks at the same object may be called in `ask`.
    ///
    /// # Errors
    /// Those of `ask`; [`Cause::NotAnswering`] when a look from before does not end, and then `ask` is not
    /// called.
    pub(crate) fn at<T, E: From<os::Error>>(
        &self,
        object: &Object,
        ask: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let _looking = self.begin(object)?;
        ask()
    }

    /// The object that this thread looks at for so long that nobody waits for it any more.
    pub(crate) fn lost(&self, thread: ThreadId) -> Option<Object> {
        let now = self.clock.now();
        let table = self.table();
        let mut its = table.under_way.values().filter(|look| look.by == thread);
        let lost = its.find(|look| look.is_over(now));
        lost.map(|look| look.object.clone())
    }

    fn begin(&self, object: &Object) -> os::Result<InFlightGuard<'_>> {
        let mut table = self.table();
        let patience = Deadline::within(&*self.clock, object.patience());
        let mut heard = None;
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
            // Who may not be heard to wait waits all the same: the look has its own limit.
            heard.get_or_insert_with(|| self.waits.begin());
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

    /// A panic elsewhere cannot leave the table half changed: nothing in here can panic.
    fn table(&self) -> MutexGuard<'_, Reads> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.table().waiting()
    }

    #[cfg(test)]
    fn under_way(&self) -> usize {
        self.table().under_way.len()
    }
}

/// Waits for a look at the object to end, for a moment, and returns whether one did. What has been under way for long by
/// the clock is waited for that moment as well: a clock that leaps makes nobody silent.
fn wait<'t>(mut table: MutexGuard<'t, Reads>, object: &Object) -> (MutexGuard<'t, Reads>, bool) {
    let ended = table.enqueue(object);
    let waited = ended.wait_timeout(table, SLICE);
    let (mut table, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    table.leave(object);
    (table, !waited.timed_out())
}

fn not_answering(object: &Object) -> os::Error {
    os::Error::new("look at", object, Cause::NotAnswering)
}

/// A look that is under way until this is dropped.
struct InFlightGuard<'a> {
    in_flight: &'a InFlight,
    ticket: u64,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let now = self.in_flight.clock.now();
        self.in_flight.table().end(self.ticket, now);
    }
}

#[derive(Default)]
struct Reads {
    /// By their tickets, the oldest first.
    under_way: BTreeMap<u64, PendingRead>,
    next: u64,
    /// Those who wait for a look at an object to end, and no others, are woken by its end: a hundred calls at a time, each
    /// of many looks, would keep the processors busy with waking one another.
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

    /// The oldest look at the object, if it takes too long or there are as many as may be.
    fn in_the_way(&self, object: &Object, now: Moment) -> Option<(u64, &PendingRead)> {
        let mut its = self
            .under_way
            .iter()
            .filter(|(_, look)| look.object == *object);
        let (ticket, oldest) = its.next()?;
        let is_full = its.count() + 1 >= object.abreast();
        (is_full || oldest.is_over(now)).then_some((*ticket, oldest))
    }

    /// Gives that look up when it has taken too long by now.
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

    /// The end makes room for one more, but that of a look that was old: it alone kept all others waiting.
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
    use crate::waits::Unheard;

    const DISK: Object = Object::Disk(DiskNumber(3));
    /// Only a test that has failed already waits so long.
    const LONG: Duration = Duration::from_secs(60);

    fn in_flight() -> (InFlight, Arc<HandClock>) {
        let clock = Arc::new(HandClock::default());
        let in_flight = InFlight::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(Unheard));
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

    /// A look at the disk that waits for the one that hangs.
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

    /// A hundred calls for as many volumes all ask which volume drive C is.
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
                let mut table = in_flight.table();
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

    /// Who waits behind others that all end in time does not wait for ever.
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
