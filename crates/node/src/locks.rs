use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use os::{Clock, Deadline, DiskNumber, VolumeId};

use crate::iscsi::{Portal, TargetName};
use crate::looks::{Looks, Object};
use crate::patience::SLICE;
use crate::{Unfinished, Way};

/// The locks of a node: one per object that is being changed, none for any other.
///
/// Waiters are served in the order in which they came, as far as they exclude each other. An entry
/// exists while somebody holds a lock or waits for it. Nobody waits for one whose holder is lost in a look
/// that does not end.
#[derive(Clone)]
pub(crate) struct Locks {
    table: Arc<Mutex<Table>>,
    moved: Arc<Condvar>,
    clock: Arc<dyn Clock>,
    looks: Looks,
}

impl Locks {
    pub(crate) fn new(clock: Arc<dyn Clock>, looks: Looks) -> Self {
        Self {
            table: Arc::default(),
            moved: Arc::default(),
            clock,
            looks,
        }
    }

    /// Takes all the keys, in their order, or none of them.
    pub(crate) fn take(
        &self,
        operation: &'static str,
        mut keys: Vec<Key>,
        deadline: Deadline,
    ) -> Result<Held, Unfinished> {
        keys.sort();
        keys.dedup();
        let mut held = Held {
            locks: self.clone(),
            operation,
            keys: Vec::new(),
            tickets: Vec::new(),
        };
        for key in keys {
            held.add(key, deadline)?;
        }
        Ok(held)
    }

    /// Waits until nobody who came before has, or wants, what this key excludes.
    fn acquire(&self, key: &Key, deadline: Deadline) -> Result<u64, Why> {
        let mut table = self.table();
        let ticket = table.enqueue(key);
        let mut waited_for = None;
        loop {
            let left = deadline.left(&*self.clock);
            let ahead = table.ahead_of(ticket, key);
            let why = match (left, ahead) {
                (None, _) => Some(Why::Deadline),
                (Some(_), None) => return Ok(ticket),
                // Not before it was waited for: a clock that leaps loses nobody.
                (Some(_), Some(it)) => self.lost(it).filter(|_| waited_for == ahead),
            };
            if let Some(why) = why {
                table.leave(ticket);
                self.moved.notify_all();
                return Err(why);
            }
            waited_for = ahead;
            let slice = left.unwrap_or(SLICE).min(SLICE);
            table = self
                .moved
                .wait_timeout(table, slice)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// What the holder is lost in, if it is.
    fn lost(&self, (_, holder): (u64, Option<ThreadId>)) -> Option<Why> {
        self.looks.lost(holder?).map(Why::NotAnswering)
    }

    fn release(&self, ticket: u64) {
        self.table().leave(ticket);
        self.moved.notify_all();
    }

    /// A panic elsewhere cannot leave the table half changed: nothing in here can panic.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn entries(&self) -> usize {
        self.table().queue.len()
    }
}

/// Why a lock was not taken.
enum Why {
    Deadline,
    /// Who holds it is lost in a look at this object.
    NotAnswering(Object),
}

/// An object that an operation changes. The order of the variants is the order in which locks are
/// taken: an operation learns a target's volume, and a volume's disk, while it holds the former.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// What is one for all targets: the secret by which they prove themselves.
    IscsiInitiator,
    IscsiTarget(TargetName),
    IscsiPortal(Portal),
    /// By its name in lower case.
    Service(String),
    SmbServer(String),
    Target(Place),
    Volume(VolumeId),
    Disk(DiskNumber),
    /// A look at a share of this server, which may take longer than the call that wants to know.
    SmbProbe(String),
}

impl Key {
    /// One entry of a directory.
    pub(crate) fn target(way: &Way) -> Self {
        Self::Target(Place::of(way, Reach::Entry))
    }

    /// An entry and everything below it, as far as paths tell.
    pub(crate) fn subtree(way: &Way) -> Self {
        Self::Target(Place::of(way, Reach::Subtree))
    }

    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Target(one), Self::Target(other)) => one.covers(other) || other.covers(one),
            (one, other) => one == other,
        }
    }
}

/// A path whose lock is taken, by its folded names: what Windows keeps apart may share a lock, but
/// what it takes for one never has two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    names: Vec<String>,
    reach: Reach,
    /// What errors call it: the names may be a link's.
    asked: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Entry,
    Subtree,
}

impl Place {
    fn of(way: &Way, reach: Reach) -> Self {
        let names = way.path().folded();
        Self {
            names: names.split('\\').map(str::to_owned).collect(),
            reach,
            asked: way.asked().to_string(),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match self.reach {
            Reach::Entry => self.names == other.names,
            Reach::Subtree => other.names.starts_with(&self.names),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(disk) => write!(f, "disk {disk}"),
            Self::IscsiInitiator => f.write_str("the iSCSI initiator"),
            Self::IscsiPortal(portal) => write!(f, "portal {portal}"),
            Self::IscsiTarget(target) => write!(f, "target {target}"),
            Self::Service(service) => write!(f, "service {service}"),
            Self::SmbProbe(server) => write!(f, "the look at SMB server {server}"),
            Self::SmbServer(server) => write!(f, "SMB server {server}"),
            Self::Target(place) => write!(f, "path {}", place.asked),
            Self::Volume(volume) => write!(f, "volume {volume}"),
        }
    }
}

/// Locks that are held until this is dropped.
pub(crate) struct Held {
    locks: Locks,
    operation: &'static str,
    keys: Vec<Key>,
    tickets: Vec<u64>,
}

impl Held {
    /// Takes one lock more.
    ///
    /// # Panics
    /// Its key is not greater than all that are held, or is a second path: two operations could wait
    /// for each other. Which keys an operation takes is written in this crate and in no request.
    pub(crate) fn add(&mut self, key: Key, deadline: Deadline) -> Result<(), Unfinished> {
        assert!(self.keys.last() < Some(&key), "locks are taken in order");
        let is_second_path = matches!(
            (self.keys.last(), &key),
            (Some(Key::Target(_)), Key::Target(_))
        );
        assert!(!is_second_path, "an operation locks one path at most");
        match self.locks.acquire(&key, deadline) {
            Ok(ticket) => {
                self.keys.push(key);
                self.tickets.push(ticket);
                Ok(())
            }
            Err(Why::Deadline) => Err(Unfinished::deadline(self.operation, &key)),
            Err(Why::NotAnswering(object)) => {
                let object = object.told_to_others();
                Err(Unfinished::not_answering(self.operation, &object))
            }
        }
    }
}

impl Held {
    /// Is held by no thread from now on, as it goes to another, of which nobody can tell whether it is lost: the
    /// look for which it is held has its own limit.
    pub(crate) fn leave_thread(&mut self) {
        let mut table = self.locks.table();
        let own = table.queue.iter_mut();
        own.filter(|it| self.tickets.contains(&it.ticket))
            .for_each(|it| it.by = None);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for ticket in self.tickets.iter().rev() {
            self.locks.release(*ticket);
        }
    }
}

/// Who holds a lock or waits for one, in the order in which they came.
#[derive(Default)]
struct Table {
    queue: VecDeque<Entry>,
    next: u64,
}

struct Entry {
    ticket: u64,
    key: Key,
    by: Option<ThreadId>,
}

impl Table {
    fn enqueue(&mut self, key: &Key) -> u64 {
        let ticket = self.next;
        self.next = self.next.wrapping_add(1);
        self.queue.push_back(Entry {
            ticket,
            key: key.clone(),
            by: Some(thread::current().id()),
        });
        ticket
    }

    /// The first that has to leave before this ticket is served, and whose it is.
    fn ahead_of(&self, ticket: u64, key: &Key) -> Option<(u64, Option<ThreadId>)> {
        let mut before = self.queue.iter().take_while(|it| it.ticket != ticket);
        let first = before.find(|it| it.key.excludes(key));
        first.map(|it| (it.ticket, it.by))
    }

    fn leave(&mut self, ticket: u64) {
        self.queue.retain(|it| it.ticket != ticket);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use os::WinPath;

    use super::*;
    use crate::looks::ANSWER_WITHIN;
    use crate::patience::tests::HandClock;

    fn locks() -> (Locks, Arc<HandClock>) {
        let clock = Arc::new(HandClock::default());
        let looks = Looks::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let locks = Locks::new(Arc::clone(&clock) as Arc<dyn Clock>, looks);
        (locks, clock)
    }

    fn disk(number: u32) -> Key {
        Key::Disk(DiskNumber(number))
    }

    fn server(name: &str) -> Key {
        Key::SmbServer(name.to_owned())
    }

    #[test]
    fn idle_objects_have_no_entry() {
        let (locks, _) = locks();
        let held = locks
            .take("test", vec![disk(1), server("a"), disk(1)], Deadline::NEVER)
            .unwrap();
        assert_eq!(held.keys, [server("a"), disk(1)]);
        assert_eq!(locks.entries(), 2);
        drop(held);
        assert_eq!(locks.entries(), 0);
    }

    #[test]
    fn a_waiter_that_gives_up_leaves_nothing_behind() {
        let (locks, clock) = locks();
        let held = locks.take("hold", vec![disk(1)], Deadline::NEVER).unwrap();
        let deadline = Deadline::within(&*clock, Duration::from_secs(5));
        clock.advance(Duration::from_secs(6));
        let keys = vec![disk(1), server("a")];
        let refused = locks.take("want", keys, deadline).err();
        assert_eq!(refused, Some(Unfinished::deadline("want", &server("a"))));
        assert_eq!(locks.entries(), 1);
        drop(held);
        assert_eq!(locks.entries(), 0);
    }

    #[test]
    fn a_waiter_sees_its_deadline_pass() {
        let (locks, clock) = locks();
        let held = locks.take("hold", vec![disk(1)], Deadline::NEVER).unwrap();
        let deadline = Deadline::within(&*clock, Duration::from_secs(5));
        let waiter = {
            let locks = locks.clone();
            thread::spawn(move || locks.take("want", vec![disk(1)], deadline).err())
        };
        while locks.entries() < 2 {
            thread::yield_now();
        }
        clock.advance(Duration::from_secs(5));
        let refused = waiter.join().unwrap();
        assert_eq!(refused, Some(Unfinished::deadline("want", &disk(1))));
        drop(held);
        assert_eq!(locks.entries(), 0);
    }

    #[test]
    fn nothing_begins_after_its_deadline_even_if_nobody_is_there() {
        let (locks, clock) = locks();
        let deadline = Deadline::within(&*clock, Duration::ZERO);
        assert!(locks.take("late", vec![disk(1)], deadline).is_err());
        assert_eq!(locks.entries(), 0);
    }

    #[test]
    fn one_at_a_time_on_one_object_whatever_the_order_of_the_keys() {
        let (locks, _) = locks();
        let inside = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..8)
            .map(|index| {
                let (locks, inside) = (locks.clone(), Arc::clone(&inside));
                thread::spawn(move || {
                    for _ in 0..50 {
                        let mut keys = vec![disk(1), disk(2), server("a")];
                        keys.rotate_left(index % 3);
                        let _held = locks.take("test", keys, Deadline::NEVER).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(locks.entries(), 0);
    }

    /// A thread that takes the lock of disk 1, does that with it, and hangs in a look at disk 7 until what is
    /// returned goes.
    fn hang(locks: &Locks, then: fn(&mut Held)) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
        let (begin, begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let locks = locks.clone();
        let holder = thread::spawn(move || {
            let mut held = locks.take("hold", vec![disk(1)], Deadline::NEVER).unwrap();
            then(&mut held);
            let hang = || {
                begin.send(()).unwrap();
                let _ = released.recv();
                Ok::<_, os::Error>(())
            };
            locks.looks.at(&Object::Disk(DiskNumber(7)), hang).unwrap();
        });
        begun.recv().unwrap();
        (release, holder)
    }

    /// What a waiter is told, while that much time goes by, which it has.
    fn told_within(locks: &Locks, clock: &Arc<HandClock>, within: Duration) -> Option<Unfinished> {
        let deadline = Deadline::within(&**clock, within);
        let clock = Arc::clone(clock);
        let hand = thread::spawn(move || clock.advance(within));
        let refused = locks.take("want", vec![disk(1)], deadline).err();
        hand.join().unwrap();
        refused
    }

    #[test]
    fn nobody_waits_for_a_holder_that_is_lost_in_a_look() {
        let (locks, clock) = locks();
        let (release, holder) = hang(&locks, |_| {});
        let soon = told_within(&locks, &clock, ANSWER_WITHIN / 2);
        assert_eq!(soon, Some(Unfinished::deadline("want", &disk(1))));
        clock.advance(ANSWER_WITHIN / 2);
        let lost = locks.take("want", vec![disk(1)], Deadline::NEVER).err();
        let looked_at = Object::Disk(DiskNumber(7));
        assert_eq!(lost, Some(Unfinished::not_answering("want", &looked_at)));
        assert_eq!(locks.entries(), 1);
        drop(release);
        holder.join().unwrap();
        assert_eq!(locks.entries(), 0);
    }

    #[test]
    fn a_lock_that_left_its_thread_is_not_lost_with_it() {
        let (locks, clock) = locks();
        let (release, holder) = hang(&locks, Held::leave_thread);
        clock.advance(2 * ANSWER_WITHIN);
        let told = told_within(&locks, &clock, ANSWER_WITHIN);
        assert_eq!(told, Some(Unfinished::deadline("want", &disk(1))));
        drop(release);
        holder.join().unwrap();
        assert_eq!(locks.entries(), 0);
    }

    fn entry(path: &str) -> Key {
        Key::target(&Way::from(&path.parse::<WinPath>().unwrap()))
    }

    fn subtree(path: &str) -> Key {
        Key::subtree(&Way::from(&path.parse::<WinPath>().unwrap()))
    }

    #[test]
    fn a_subtree_excludes_what_is_at_below_and_above_it_as_far_as_that_reaches() {
        let plugins = subtree(r"C:\var\plugins");
        for within in [
            entry(r"C:\var\plugins"),
            entry(r"c:\VAR\plugins\x"),
            subtree(r"C:\var\plugins\x\y"),
            subtree(r"C:\var"),
        ] {
            assert!(
                plugins.excludes(&within) && within.excludes(&plugins),
                "{within}"
            );
        }
        for beside in [
            entry(r"C:\var"),
            entry(r"C:\var\plugins-x"),
            subtree(r"C:\var\pods"),
            subtree(r"D:\var\plugins"),
            disk(1),
        ] {
            assert!(
                !plugins.excludes(&beside) && !beside.excludes(&plugins),
                "{beside}"
            );
        }
        assert!(!entry(r"C:\var").excludes(&entry(r"C:\var\plugins")));
        assert!(entry(r"C:\var").excludes(&entry(r"c:\var")));
    }

    #[test]
    fn who_waits_for_a_subtree_leaves_nothing_behind() {
        let (locks, clock) = locks();
        let below = vec![entry(r"C:\var\x")];
        let held = locks.take("mount", below.clone(), Deadline::NEVER).unwrap();
        let deadline = Deadline::within(&*clock, Duration::from_secs(5));
        let waiter = {
            let locks = locks.clone();
            thread::spawn(move || {
                locks
                    .take("remove", vec![subtree(r"C:\var")], deadline)
                    .err()
            })
        };
        while locks.entries() < 2 {
            thread::yield_now();
        }
        clock.advance(Duration::from_secs(5));
        let refused = waiter.join().unwrap();
        let expected = Unfinished::deadline("remove", &subtree(r"C:\var"));
        assert_eq!(refused, Some(expected));
        drop(held);
        assert_eq!(locks.entries(), 0);
        let tree = locks.take("remove", vec![subtree(r"C:\var")], Deadline::NEVER);
        drop(tree.unwrap());
        drop(locks.take("mount", below, Deadline::NEVER).unwrap());
        assert_eq!(locks.entries(), 0);
    }

    #[test]
    #[should_panic(expected = "locks are taken in order")]
    fn locks_out_of_order_are_refused_in_every_build() {
        let (locks, _) = locks();
        let mut held = locks.take("test", vec![disk(1)], Deadline::NEVER).unwrap();
        let _ = held.add(server("a"), Deadline::NEVER);
    }
}
