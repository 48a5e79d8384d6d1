//! One pool thread as others see it, with its connections.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use std::{io, mem};

use super::{Pool, Task};
use crate::conn::{Connection, Wait};
use crate::sys::{Handles, Interest, Waitable, Wakeup};

/// A thread, for the monitor, the pool and wakers.
#[derive(Debug)]
pub(crate) struct Worker {
    thread: OnceLock<ThreadId>,
    /// Odd while the thread runs a call.
    calls: AtomicU64,
    /// The thread's connections. Only the thread itself adds to them; others take them away, and
    /// only while it is within a call.
    slots: Mutex<Vec<Slot>>,
    /// Their number, to compare without the lock.
    load: AtomicUsize,
    /// The thread waits, and was not roused for the queue yet.
    waiting: AtomicBool,
    /// The connections were taken, and the thread is no driver any more.
    dismissed: AtomicBool,
    wakeup: Wakeup,
}

/// A connection of a thread.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) connection: Arc<Connection>,
    pub(crate) handles: Handles,
    pub(crate) wait: Wait,
    /// When it was last served.
    pub(crate) since: Instant,
    /// Whether `wait` is still to be learned from the connection.
    pub(crate) stale: bool,
    /// Whether it has work left because others came first.
    pub(crate) late: bool,
}

impl Worker {
    /// The most connections of a thread: Win32 waits for 64 handles, each connection has two, and
    /// the thread's own event is one.
    pub(crate) const MOST: usize = 31;

    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            thread: OnceLock::new(),
            calls: AtomicU64::new(0),
            slots: Mutex::default(),
            load: AtomicUsize::new(0),
            waiting: AtomicBool::new(false),
            dismissed: AtomicBool::new(false),
            wakeup: Wakeup::new()?,
        })
    }

    /// The calling thread becomes the thread of this worker.
    pub(super) fn enter(&self) {
        self.thread.get_or_init(|| thread::current().id());
    }

    #[cfg(test)]
    pub(super) fn is_this_thread(&self) -> bool {
        self.thread.get() == Some(&thread::current().id())
    }

    /// The event for ending this thread's wait.
    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }

    pub(super) fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the connections; for the thread itself.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Vec<Slot>) -> T) -> T {
        let mut slots = self.slots();
        let result = change(&mut slots);
        self.set_load(slots.len());
        result
    }

    pub(super) fn set_load(&self, load: usize) {
        self.load.store(load, Relaxed);
    }

    pub(super) fn load(&self) -> usize {
        self.load.load(Relaxed)
    }

    /// Whether the thread waits, and has not been roused for the queue.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(SeqCst)
    }

    /// Whether the thread could take another connection.
    pub(super) fn has_room(&self) -> bool {
        self.load() < Self::MOST
    }

    /// Has the thread look at the queue.
    pub(super) fn rouse_for_queue(&self) {
        if self.waiting.swap(false, SeqCst) {
            self.wakeup.set();
        }
    }

    /// The thread is going to wait unless there is something in the queue. It marks itself first
    /// and then checks; a thread that queues something does the reverse. Both are sequentially
    /// consistent, so at least one sees the other's write.
    pub(super) fn begin_wait(&self) {
        self.waiting.store(true, SeqCst);
    }

    pub(super) fn end_wait(&self) {
        self.waiting.store(false, SeqCst);
    }

    /// The thread runs a call.
    pub(crate) fn begin_call(&self) {
        self.calls.fetch_add(1, SeqCst);
    }

    /// The call has ended.
    pub(crate) fn end_call(&self) {
        self.calls.fetch_add(1, SeqCst);
    }

    /// The mark, and whether the thread is within a call and has connections.
    pub(super) fn calls(&self) -> (u64, bool) {
        let calls = self.calls.load(SeqCst);
        (calls, !calls.is_multiple_of(2) && self.load() > 0)
    }

    /// Takes the connections away from a thread within a call.
    ///
    /// The call's own is taken first: after this the thread notices before it goes on to another,
    /// and `slots` is locked until all are taken. The thread never holds this lock within a call,
    /// so a held lock means nothing to take.
    pub(super) fn relieve(&self, pool: &Arc<Pool>) {
        let Ok(mut slots) = self.slots.try_lock() else {
            return;
        };
        if !slots.iter().any(|slot| slot.connection.ownership().steal()) {
            return;
        }
        let slots = self.dismiss(&mut slots);
        hand_over(slots, pool);
    }

    /// The thread gives up its connections before a slow call of `own`, the connection it serves.
    pub(crate) fn give_up(&self, own: &Arc<Connection>, pool: &Arc<Pool>) {
        let mut slots = self.slots();
        own.ownership().begin_call();
        own.ownership().steal();
        let slots = self.dismiss(&mut slots);
        hand_over(slots, pool);
    }

    fn dismiss(&self, slots: &mut Vec<Slot>) -> Vec<Slot> {
        self.load.store(0, Relaxed);
        self.dismissed.store(true, SeqCst);
        mem::take(slots)
    }

    /// The thread drives no more; true when it still counts as a driver.
    pub(super) fn retire(&self) -> bool {
        !self.dismissed.swap(false, SeqCst)
    }

    /// Gives everything back after a panic in a turn; that turn's connection is closed.
    pub(super) fn abandon(&self, pool: &Arc<Pool>) {
        if !self.calls.load(SeqCst).is_multiple_of(2) {
            self.end_call();
        }
        self.end_wait();
        for slot in self.change(mem::take) {
            match slot.connection.ownership().claim() {
                true => pool.push(Task::Serve(slot.connection)),
                false => slot.connection.abandon(),
            }
        }
    }
}

/// Queues the connections of a former driver. Waiting ones are claimed; the one in a call has been
/// stolen and is queued unchanged.
fn hand_over(slots: Vec<Slot>, pool: &Arc<Pool>) {
    pool.dismiss();
    for slot in slots {
        slot.connection.ownership().claim();
        pool.push(Task::Serve(slot.connection));
    }
}

impl Slot {
    /// For a connection about to be served.
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        Self {
            connection: Arc::clone(connection),
            handles: connection.handles().clone(),
            wait: Wait::default(),
            since: Instant::now(),
            stale: true,
            late: false,
        }
    }

    pub(super) fn is_of(&self, connection: &Arc<Connection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }

    /// For the list of connections to serve.
    pub(super) fn due(&self) -> (Instant, Arc<Connection>) {
        (self.since, Arc::clone(&self.connection))
    }

    /// When there is something to do for the connection though nothing happens.
    pub(super) fn next(&self, linger: Duration) -> Instant {
        let idle = match self.wait.lingers {
            true => self.since + linger,
            false => self.since,
        };
        self.wait.until.map_or(idle, |until| until.min(idle))
    }

    /// Whether the wait found something, work is left, or a deadline has passed.
    pub(super) fn wants_service(&self, ready: Interest, now: Instant) -> bool {
        let has_news = ready != Interest::default() && self.connection.note_ready(ready);
        let is_due = || self.wait.until.is_some_and(|until| until <= now);
        has_news || self.late || self.connection.ownership().is_wanted() || is_due()
    }

    /// Leaves the connection to the system; false when a turn is wanted instead.
    pub(super) fn park(&self) -> bool {
        self.connection.park(&self.wait)
    }
}

impl Waitable for Slot {
    fn handles(&self) -> &Handles {
        &self.handles
    }

    fn interest(&self) -> Interest {
        self.wait.interest
    }
}
