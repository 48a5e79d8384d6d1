//! One lock for each object ([`Key`]) that an operation changes, and none for any other.
//!
//! `LockGuard::add` asserts the order of keys, so that no two operations wait for each other. Operations wait in the
//! order of arrival, until the deadline, or until the read in which the holder hangs was given up
//! (`Unfinished::NotAnswering`). At most 128 wait for one object and 512 in all (`Unfinished::Crowded`); a wait for a
//! share or its server ends after 90 seconds (`Unfinished::Busy`). A lock is released when the call into Windows has
//! really ended, even if the caller was answered before. `Waits` reports each wait. Reads take no locks.

mod key;
mod table;
mod wait;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar};

use os::Clock;

pub(crate) use self::key::Key;
use self::table::{LockState, Table};
pub(crate) use self::wait::Wait;
use crate::in_flight::InFlight;
use crate::poll::SLICE;
use crate::unpoisoned::{self, Unpoisoned};
use crate::{Crowd, Unfinished, Waits};

/// The locks of a node. Waiters are served in the order in which they came, as far as they exclude each other. An entry
/// exists while a call holds the lock or waits for it.
#[derive(Clone)]
pub(crate) struct Locks {
    table: Arc<Unpoisoned<Table>>,
    moved: Arc<Condvar>,
    clock: Arc<dyn Clock>,
    in_flight: InFlight,
    waits: Arc<dyn Waits>,
}

impl Locks {
    pub(crate) fn new(clock: Arc<dyn Clock>, in_flight: InFlight, waits: Arc<dyn Waits>) -> Self {
        Self {
            table: Arc::default(),
            moved: Arc::default(),
            clock,
            in_flight,
            waits,
        }
    }

    /// Takes all the keys, in their order, or none of them.
    pub(crate) fn take(
        &self,
        operation: &'static str,
        keys: impl IntoIterator<Item = Key>,
        wait: impl Into<Wait>,
    ) -> Result<LockGuard, Unfinished> {
        let (keys, wait) = (BTreeSet::from_iter(keys), wait.into());
        let mut held = LockGuard {
            locks: self.clone(),
            operation,
            keys: Vec::new(),
            tickets: Vec::new(),
        };
        for key in keys {
            held.add(key, wait)?;
        }
        Ok(held)
    }

    /// Waits until no earlier call holds, or wants, a lock that this key excludes.
    fn acquire(&self, operation: &'static str, key: &Key, wait: Wait) -> Result<u64, Unfinished> {
        let turn = wait.turn(&*self.clock);
        let mut table = self.table.lock();
        let ticket = table.enqueue(operation, key);
        let mut reported = None;
        let mut waited_for = None;
        loop {
            let left = turn.left(&*self.clock);
            let ahead = table.ahead_of(ticket, key);
            let refused = match (left, ahead) {
                _ if wait.deadline.left(&*self.clock).is_none() => {
                    Some(Unfinished::deadline(operation, key))
                }
                (_, None) => {
                    table.set_state(ticket, LockState::Holds(self.clock.now()));
                    return Ok(ticket);
                }
                (None, Some(_)) => {
                    let (holder, held) = table.holder_before(ticket, self.clock.now());
                    let object = key.to_string();
                    Some(Unfinished::Busy {
                        operation,
                        object,
                        holder,
                        held,
                    })
                }
                (Some(_), Some(_)) if reported.is_none() => {
                    let begun = self.begin_wait(&mut table, (ticket, operation, key));
                    begun.map(|wait| reported = Some(wait)).err()
                }
                // Not before it was waited for: a clock that leaps loses nobody.
                (Some(_), Some((_, Some(holder)))) if waited_for == ahead => {
                    let lost = self.in_flight.lost(holder);
                    lost.map(|at| Unfinished::not_answering(operation, &at.name_for_others()))
                }
                (Some(_), Some(_)) => None,
            };
            if let Some(refused) = refused {
                table.leave(ticket);
                self.moved.notify_all();
                return Err(refused);
            }
            waited_for = ahead;
            let slice = left.unwrap_or(SLICE).min(SLICE);
            (table, _) = unpoisoned::wait(&self.moved, table, slice);
        }
    }

    /// Lets a ticket wait, unless too many do.
    fn begin_wait(
        &self,
        table: &mut Table,
        (ticket, operation, key): (u64, &'static str, &Key),
    ) -> Result<Box<dyn Any>, Unfinished> {
        let refusal = |crowd| Unfinished::Crowded {
            operation,
            object: key.to_string(),
            source: table.crowded(ticket, crowd, self.clock.now()),
        };
        if let Some(crowd) = table.crowd_around(ticket) {
            return Err(refusal(crowd));
        }
        let wait = self.waits.begin().ok_or_else(|| refusal(Crowd::Caller))?;
        table.set_state(ticket, LockState::Waits);
        Ok(wait)
    }

    fn release(&self, ticket: u64) {
        self.table.lock().leave(ticket);
        self.moved.notify_all();
    }

    #[cfg(test)]
    fn entries(&self) -> usize {
        self.table.lock().queue.len()
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.table.lock().waiting().count()
    }
}

/// Locks that are held until this is dropped.
pub(crate) struct LockGuard {
    locks: Locks,
    operation: &'static str,
    keys: Vec<Key>,
    tickets: Vec<u64>,
}

impl LockGuard {
    /// Takes one lock more.
    ///
    /// # Panics
    /// Its key is not greater than all that are held, or is a second path: two operations could wait
    /// for each other. Which keys an operation takes is written in this crate and in no request.
    pub(crate) fn add(&mut self, key: Key, wait: impl Into<Wait>) -> Result<(), Unfinished> {
        assert!(self.keys.last() < Some(&key), "locks are taken in order");
        let is_second_path = matches!(
            (self.keys.last(), &key),
            (Some(Key::Target(_)), Key::Target(_))
        );
        assert!(!is_second_path, "an operation locks one path at most");
        let ticket = self.locks.acquire(self.operation, &key, wait.into())?;
        self.keys.push(key);
        self.tickets.push(ticket);
        Ok(())
    }

    /// Detaches the lock from its thread, as it goes to another one. Nothing can report whether that thread is
    /// lost: the query for which it is held has its own limit.
    pub(crate) fn leave_thread(&mut self) {
        let mut table = self.locks.table.lock();
        let own = table.queue.iter_mut();
        own.filter(|it| self.tickets.contains(&it.ticket))
            .for_each(|it| it.by = None);
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        for ticket in self.tickets.iter().rev() {
            self.locks.release(*ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use os::{Deadline, DiskNumber, WinPath};

    use super::table::{MOST, MOST_FOR_ONE};
    use super::*;
    use crate::in_flight::{ANSWER_WITHIN, Object};
    use crate::poll::tests::HandClock;
    use crate::waits::Uncounted;
    use crate::{Crowded, ResolvedPath};

    fn locks() -> (Locks, Arc<HandClock>) {
        let clock = Arc::new(HandClock::default());
        (locks_reporting_to(&clock, Arc::new(Uncounted)), clock)
    }

    fn locks_reporting_to(clock: &Arc<HandClock>, waits: Arc<dyn Waits>) -> Locks {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        let in_flight = InFlight::new(Arc::clone(&clock), Arc::new(Uncounted));
        Locks::new(clock, in_flight, waits)
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
    fn who_waits_too_long_for_its_turn_is_told_who_has_it_and_leaves_nothing_behind() {
        let (locks, clock) = locks();
        let held = locks.take("hold", vec![disk(1)], Deadline::NEVER).unwrap();
        let waiter = {
            let locks = locks.clone();
            let wait = Wait::at_most(Duration::from_secs(90), Deadline::NEVER);
            thread::spawn(move || locks.take("want", vec![disk(1)], wait).err())
        };
        while locks.waiting() < 1 {
            thread::yield_now();
        }
        clock.advance(Duration::from_secs(90));
        let error_text = waiter.join().unwrap().unwrap().to_string();
        assert_eq!(error_text, "want disk 1: hold has had it for 90 s");
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

    /// Guards: P37
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
    fn hang(locks: &Locks, then: fn(&mut LockGuard)) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
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
            locks
                .in_flight
                .at(&Object::Disk(DiskNumber(7)), hang)
                .unwrap();
        });
        begun.recv().unwrap();
        (release, holder)
    }

    /// The error of a waiting call, while that much of its time passes.
    fn refusal_within(
        locks: &Locks,
        clock: &Arc<HandClock>,
        within: Duration,
    ) -> Option<Unfinished> {
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
        let soon = refusal_within(&locks, &clock, ANSWER_WITHIN / 2);
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
        let (release, holder) = hang(&locks, LockGuard::leave_thread);
        clock.advance(2 * ANSWER_WITHIN);
        let error_text = refusal_within(&locks, &clock, ANSWER_WITHIN);
        assert_eq!(error_text, Some(Unfinished::deadline("want", &disk(1))));
        drop(release);
        holder.join().unwrap();
        assert_eq!(locks.entries(), 0);
    }

    fn entry(path: &str) -> Key {
        Key::target(&ResolvedPath::from(&path.parse::<WinPath>().unwrap()))
    }

    fn subtree(path: &str) -> Key {
        Key::subtree(&ResolvedPath::from(&path.parse::<WinPath>().unwrap()))
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

    /// Runs `meanwhile` while as many as that wait for each of the keys, which somebody holds.
    fn while_a_crowd_waits(
        locks: &Locks,
        clock: &HandClock,
        (keys, many): (&[Key], usize),
        meanwhile: impl FnOnce(),
    ) {
        let hold = |key: &Key| locks.take("hold", vec![key.clone()], Deadline::NEVER);
        let held: Vec<_> = keys.iter().map(|key| hold(key).unwrap()).collect();
        let deadline = Deadline::within(clock, Duration::from_secs(60));
        thread::scope(|scope| {
            for key in keys.iter().cycle().take(keys.len() * many) {
                scope.spawn(|| locks.take("wait", vec![key.clone()], deadline).err());
            }
            while locks.waiting() < keys.len() * many {
                thread::yield_now();
            }
            let _patience = Patience(clock);
            meanwhile();
        });
        drop(held);
        assert_eq!(locks.entries(), 0);
    }

    /// Ends with those who wait, when their deadline passes.
    struct Patience<'a>(&'a HandClock);

    impl Drop for Patience<'_> {
        fn drop(&mut self) {
            self.0.advance(Duration::from_secs(60));
        }
    }

    /// The error of a call that must not wait.
    fn refused(locks: &Locks, key: Key) -> Crowded {
        let (before, its) = (locks.waiting(), locks.clone());
        let asked = thread::spawn(move || its.take("want", vec![key], Deadline::NEVER).err());
        while !asked.is_finished() {
            assert_eq!(locks.waiting(), before, "it waits");
            thread::yield_now();
        }
        match asked.join().unwrap() {
            Some(Unfinished::Crowded { source, .. }) => source,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_would_wait_with_too_many_for_one_object_is_told_who_has_it_and_others_are_served() {
        let (locks, clock) = locks();
        while_a_crowd_waits(&locks, &clock, (&[disk(1)], MOST_FOR_ONE), || {
            clock.advance(Duration::from_secs(12));
            assert_eq!(
                refused(&locks, disk(1)).to_string(),
                "hold has had it for 12 s, and 128 calls for it wait already"
            );
            drop(locks.take("want", vec![disk(2)], Deadline::NEVER).unwrap());
        });
    }

    #[test]
    fn who_need_not_wait_is_served_however_many_wait() {
        let (locks, clock) = locks();
        let keys: Vec<_> = (0..4).map(disk).collect();
        while_a_crowd_waits(&locks, &clock, (&keys, MOST_FOR_ONE), || {
            let _held = locks.take("have", vec![disk(9)], Deadline::NEVER).unwrap();
            let error_text = refused(&locks, disk(9));
            assert_eq!(
                (error_text.holder, error_text.crowd),
                ("have", Crowd::Node(MOST))
            );
        });
    }

    #[test]
    fn entries_below_a_subtree_are_one_crowd() {
        let (locks, clock) = locks();
        let _tree = locks.take("remove", vec![subtree(r"C:\var")], Deadline::NEVER);
        let deadline = Deadline::within(&*clock, Duration::from_secs(60));
        thread::scope(|scope| {
            for index in 0..MOST_FOR_ONE {
                let below = vec![entry(&format!(r"C:\var\{index}"))];
                let locks = &locks;
                scope.spawn(move || locks.take("wait", below, deadline).err());
            }
            let _patience = Patience(&clock);
            while locks.waiting() < MOST_FOR_ONE {
                thread::yield_now();
            }
            let error_text = refused(&locks, entry(r"C:\var\another"));
            let expected = ("remove", Crowd::Object(MOST_FOR_ONE));
            assert_eq!((error_text.holder, error_text.crowd), expected);
        });
    }

    /// Lets one operation wait at a time.
    #[derive(Default)]
    struct One(Arc<AtomicUsize>);

    struct Its(Arc<AtomicUsize>);

    impl Waits for One {
        fn begin(&self) -> Option<Box<dyn Any>> {
            let before = self.0.fetch_add(1, Ordering::SeqCst);
            let its = Its(Arc::clone(&self.0));
            (before == 0).then(|| Box::new(its) as Box<dyn Any>)
        }
    }

    impl Drop for Its {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_counts_hears_of_each_wait_and_its_end_and_may_refuse_it() {
        let clock = Arc::new(HandClock::default());
        let one = One::default();
        let count = Arc::clone(&one.0);
        let locks = locks_reporting_to(&clock, Arc::new(one));
        while_a_crowd_waits(&locks, &clock, (&[disk(1)], 1), || {
            assert_eq!(count.load(Ordering::SeqCst), 1);
            assert_eq!(refused(&locks, disk(1)).crowd, Crowd::Caller);
            assert_eq!(locks.entries(), 2, "nothing is left of it");
        });
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }

    #[test]
    #[should_panic(expected = "locks are taken in order")]
    fn locks_out_of_order_are_refused_in_every_build() {
        let (locks, _) = locks();
        let mut held = locks.take("test", vec![disk(1)], Deadline::NEVER).unwrap();
        let _ = held.add(server("a"), Deadline::NEVER);
    }
}
