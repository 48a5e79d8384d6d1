use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use thiserror::Error;

use super::Client;
use super::client::Tally;
use crate::ServerOptions;

/// Counts the running calls, and the calls waiting for others.
///
/// # Places
/// Each [`Group`] has a few that its calls take first; the rest are for all. A waiting call gives its place back, so
/// calls that wait for a hung one block nothing else. It always gets a place again when it goes on: for a moment more
/// calls run than there are places, but never more than threads, as the waiting calls are bounded too.
///
/// # Waiting for none
/// The end of the last call wakes the waiters, and costs a system call only if there are any: a
/// waiter first sets the mark and then reads the count, a call first leaves the count and then
/// reads the mark. All four are sequentially consistent, so at least one sees the other.
#[derive(Debug)]
pub(crate) struct Calls {
    /// Calls that have not ended, running or waiting.
    alive: AtomicUsize,
    waiting: Tally,
    /// Calls with a place outside all reserves.
    common: Tally,
    limits: Limits,
    /// A thread waits, or has waited, until no call is left.
    awaited: AtomicBool,
    /// Held from the mark to the wait, so no end is announced in between.
    until_none: Mutex<()>,
    ended: Condvar,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Places for all, and in each group's reserve.
    common: usize,
    reserved: usize,
    waiting: usize,
    /// The most calls of one process.
    process: usize,
    process_waiting: usize,
}

/// Services with a reserve of places for their calls alone.
#[derive(Debug, Default)]
pub(crate) struct Group {
    reserved: Tally,
}

/// The client and group of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whose<'a> {
    pub(crate) client: &'a Client,
    pub(crate) group: &'a Group,
}

/// The place that a call holds.
#[derive(Debug)]
pub(crate) enum CallSlot {
    Common,
    Reserved,
    /// None, as it waits.
    Waiting,
}

/// Why a call is not run.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("{0} calls run already")]
    Full(usize),
    #[error("{0} calls of one process run already")]
    Share(usize),
}

impl Calls {
    pub(super) fn new(options: &ServerOptions, groups: usize) -> Self {
        Self {
            alive: AtomicUsize::new(0),
            waiting: Tally::default(),
            common: Tally::default(),
            limits: Limits::new(options, groups.max(1)),
            awaited: AtomicBool::new(false),
            until_none: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Counts one more call, unless there are too many.
    pub(crate) fn begin(&self, whose: Whose<'_>) -> Result<CallSlot, Refusal> {
        let share = self.limits.process;
        if !whose.client.begin_call(share) {
            return Err(Refusal::Share(share));
        }
        let Some(place) = self.place(whose.group) else {
            whose.client.end_call();
            return Err(Refusal::Full(self.running()));
        };
        self.alive.fetch_add(1, Ordering::SeqCst);
        Ok(place)
    }

    /// A call has ended.
    pub(crate) fn end(&self, whose: Whose<'_>, place: &CallSlot) {
        self.leave(whose, place);
        let before = self.alive.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.awaited.load(Ordering::SeqCst) {
            drop(self.lock());
            self.ended.notify_all();
        }
    }

    /// A call waits from now on; false when too many do, and then it keeps its place.
    pub(crate) fn begin_wait(&self, whose: Whose<'_>, place: &mut CallSlot) -> bool {
        if !whose.client.begin_wait(self.limits.process_waiting) {
            return false;
        }
        if !self.waiting.take(self.limits.waiting) {
            whose.client.end_wait();
            return false;
        }
        self.leave(whose, place);
        *place = CallSlot::Waiting;
        true
    }

    /// A waiting call goes on.
    pub(crate) fn end_wait(&self, whose: Whose<'_>, place: &mut CallSlot) {
        whose.client.resume_call();
        let resumed = self.place(whose.group).unwrap_or_else(|| {
            self.common.add();
            CallSlot::Common
        });
        self.leave(whose, place);
        *place = resumed;
    }

    fn place(&self, group: &Group) -> Option<CallSlot> {
        if group.reserved.take(self.limits.reserved) {
            return Some(CallSlot::Reserved);
        }
        let has_room = self.common.take(self.limits.common);
        has_room.then_some(CallSlot::Common)
    }

    fn leave(&self, whose: Whose<'_>, place: &CallSlot) {
        match place {
            CallSlot::Common => self.common.give_back(),
            CallSlot::Reserved => whose.group.reserved.give_back(),
            CallSlot::Waiting => {
                self.waiting.give_back();
                return whose.client.end_wait();
            }
        }
        whose.client.end_call();
    }

    pub(super) fn running(&self) -> usize {
        self.alive().saturating_sub(self.waiting())
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// The number of calls that have not ended.
    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    /// Waits until no call is left, even one without a waiting client, but not longer than
    /// `deadline`.
    pub(super) fn wait_none(&self, deadline: Instant) {
        let mut guard = self.lock();
        self.awaited.store(true, Ordering::SeqCst);
        while self.alive() > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.ended.wait_timeout(guard, left);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    #[cfg(test)]
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.until_none
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Limits {
    /// At least half of the places are for all.
    fn new(options: &ServerOptions, groups: usize) -> Self {
        let most = options.max_running_calls;
        let reserved = options.reserved_calls.min(most / 2 / groups);
        Self {
            common: most - reserved * groups,
            reserved,
            waiting: options.max_waiting_calls,
            process: options.max_process_calls,
            process_waiting: options.max_process_waiting_calls,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::Peer;

    const TIMEOUT: Duration = Duration::from_secs(30);

    const ROOM: usize = 2;

    fn calls(most: usize, groups: usize) -> Calls {
        let options = ServerOptions {
            max_running_calls: most,
            max_process_calls: ROOM,
            reserved_calls: 1,
            max_waiting_calls: 2 * ROOM,
            max_process_waiting_calls: ROOM,
            ..ServerOptions::default()
        };
        Calls::new(&options, groups)
    }

    fn process(pid: u32) -> Client {
        Client::of(Peer { pid: Some(pid) })
    }

    #[test]
    fn who_waits_for_the_calls_hears_of_the_last_end() {
        let calls = calls(4, 1);
        let its = Whose {
            client: &process(1),
            group: &Group::default(),
        };
        let first = calls.begin(its).unwrap();
        let mut last = calls.begin(its).unwrap();
        assert!(calls.begin_wait(its, &mut last));
        let deadline = Instant::now() + TIMEOUT;
        thread::scope(|scope| {
            let waiting = scope.spawn(|| calls.wait_none(deadline));
            while !calls.is_awaited() {
                thread::yield_now();
            }
            // The waiter holds it until it waits.
            drop(calls.lock());
            calls.end(its, &first);
            assert!(!waiting.is_finished());
            calls.end(its, &last);
            waiting.join().unwrap();
            assert!(Instant::now() < deadline, "it was told, not tired");
        });
        assert_eq!(calls.waiting(), 0);
    }

    #[test]
    fn who_waits_for_calls_waits_no_longer_than_told() {
        let calls = calls(1, 1);
        let its = Whose {
            client: &process(1),
            group: &Group::default(),
        };
        let mut place = calls.begin(its).unwrap();
        assert!(calls.begin_wait(its, &mut place));
        let deadline = Instant::now() + Duration::from_millis(20);
        calls.wait_none(deadline);
        assert!(Instant::now() >= deadline, "it is left, though it waits");
        assert_eq!((calls.running(), calls.waiting()), (0, 1));
    }

    /// Guards: P32
    #[test]
    fn a_group_has_places_that_no_other_takes() {
        let calls = calls(4, 2);
        let (client, groups) = (Client::default(), [Group::default(), Group::default()]);
        let [flood, other] = groups.each_ref().map(|group| Whose {
            client: &client,
            group,
        });
        let places: Vec<_> = (0..3).map(|_| calls.begin(flood).unwrap()).collect();
        let refused = calls.begin(flood).unwrap_err().to_string();
        assert_eq!(refused, "3 calls run already");
        let reserved = calls.begin(other).unwrap();
        assert!(calls.begin(other).is_err(), "the rest is taken");
        calls.end(other, &reserved);
        assert!(calls.begin(flood).is_err(), "still not another's");
        places.iter().for_each(|place| calls.end(flood, place));
        assert_eq!(calls.running(), 0);
    }

    #[test]
    fn a_call_that_waits_leaves_its_place_and_is_never_refused_one_again() {
        let calls = calls(2, 1);
        let (clients, group) = ([1, 2].map(process), Group::default());
        let [its, others] = clients.each_ref().map(|client| Whose {
            client,
            group: &group,
        });
        let mut waits = [(); ROOM].map(|()| calls.begin(its).unwrap());
        assert!(calls.begin(others).is_err(), "there is no place");
        assert!(waits.iter_mut().all(|place| calls.begin_wait(its, place)));
        assert_eq!((calls.running(), calls.waiting()), (0, ROOM));
        let run = [(); ROOM].map(|()| calls.begin(its).unwrap());
        waits
            .iter_mut()
            .for_each(|place| calls.end_wait(its, place));
        assert_eq!((calls.running(), calls.waiting()), (2 * ROOM, 0));
        assert!(matches!(calls.begin(its), Err(Refusal::Share(ROOM))));
        assert!(matches!(calls.begin(others), Err(Refusal::Full(4))));
        waits
            .iter()
            .chain(&run)
            .for_each(|place| calls.end(its, place));
        let again = [(); ROOM].map(|()| calls.begin(others).unwrap());
        again.iter().for_each(|place| calls.end(others, place));
    }

    /// Guards: P31
    #[test]
    fn those_that_wait_are_bounded_in_all_and_for_each_process() {
        let calls = calls(9, 1);
        let (clients, group) = ([1, 2, 3].map(process), Group::default());
        let [first, second, its] = clients.each_ref().map(|client| Whose {
            client,
            group: &group,
        });
        for its in [first, second] {
            for _ in 0..ROOM {
                let mut place = calls.begin(its).unwrap();
                assert!(calls.begin_wait(its, &mut place));
            }
            let mut place = calls.begin(its).unwrap();
            assert!(!calls.begin_wait(its, &mut place), "it has its share");
            calls.end(its, &place);
        }
        let mut place = calls.begin(its).unwrap();
        assert!(!calls.begin_wait(its, &mut place), "there are no more");
        assert_eq!((calls.running(), calls.waiting()), (1, 2 * ROOM));
    }
}
