//! The threads: few, cached, and none for a silent connection.
//!
//! A thread either idles, or is a *driver*: it owns a set of connections, waits for them and serves them ([`round`]).
//! There are as many drivers as processors, so connections share threads and a busy server needs few waits; a waking
//! connection goes to the queue, and the driver with the fewest connections takes it from there. [`crate::ownership`]
//! has the states of a connection.
//!
//! ```text
//!   a client ──► queue ──► driver ───── idle for its linger time ─────► the system's watch
//!                  ▲         │ ▲                                                │
//!                  │         │ └─ a call that returns                           │
//!                  ├─────────┘ a slow call: all that the driver owns            │
//!                  └──────────────────────────────── news ──────────────────────┘
//! ```
//!
//! # Calls
//! Services run on the drivers themselves, so a fast call costs no hand-over. A blocking one would
//! delay the other connections of its driver. So a driver gives up its connections before it runs a
//! method that was slow before ([`pace`]), even if it has no other, so the queue does not wait for
//! it; and from a slow call the [`monitor`] takes them after 15 to 30 milliseconds. These
//! connections go to the queue, another thread is appointed driver, and the slow one idles once its
//! call has ended.
//!
//! # Rounds
//! From one wait to the next a driver serves the connections of one client process for 300 microseconds in all, if
//! connections of others may be waiting for it ([`slice`]). It postpones the rest to its next round, longest unserved
//! first. In the queue too processes take turns ([`queue`]). While it postpones some, it leaves idle connections to the
//! system at once, and so to the queue, for any thread. If it is full and something is queued, it queues the postponed
//! ones as well: 300 busy connections of a process fill each driver, and others' would wait for one with room.
//!
//! Calls can never take the last threads: there may be [`SPARE`] more threads than running and waiting calls, and a
//! call beyond the bound is refused before it runs.
//!
//! # Why every queued task is taken
//! [`Pool::push`] puts a task into the queue, counts it, and then looks at the drivers:
//!
//! - Fewer than there should be: it appoints another, an idle thread or a new one.
//! - All wait and are full: it appoints one more. A full driver that wakes up with a task still
//!   queued does the same ([`Pool::help`]).
//! - One waits and has room: it rouses this one. A driver marks its wait and then reads the count;
//!   `push` counts and then reads the mark. All four are sequentially consistent, so at least one
//!   of them sees the other's.
//! - No waiting driver has room, and some do not wait: such a driver checks the queue before it
//!   waits, and before it idles.
//! - All non-waiting drivers are within slow calls: the monitor relieves them, so there are fewer
//!   drivers than there should be. And if nothing was taken from the queue between two of its
//!   checks, whatever the drivers do, it appoints another. It does not sleep while something is
//!   queued, and a failed start of a thread rouses it.
//! - If there are enough drivers, but all are full, one about to idle goes on driving.
//!
//! # What each part buys
//! docs/benchmarks.md of the repository has the figures of a server without each:
//!
//! - Calls on the drivers: without them (each call handed to a thread of a second pool and its
//!   answer handed back) a call costs more processor time and a server more threads.
//! - The linger time: without it each call arms the system's watch and comes back by way of the
//!   queue.
//! - The pace of methods: without it calls of 1 to 15 milliseconds run one after the other on each
//!   driver, and hold up the fast ones there, since the monitor takes nothing from them.
//! - The monitor: it keeps a hung call from delaying others.

mod monitor;
mod pace;
mod queue;
mod round;
mod slice;
mod worker;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use self::monitor::Monitor;
use self::queue::Queue;
use crate::conn::Connection;
use crate::panics::contain;
use crate::server::Acceptor;
use crate::throttle::Throttle;
use crate::{ServerOptions, sys};

pub(crate) use pace::Pace;
pub(crate) use slice::Slice;
pub(crate) use worker::{Slot, Worker};

/// Threads beyond those of calls.
const SPARE: usize = 64;
/// How long a thread without work waits for some before it ends.
const IDLE: Duration = Duration::from_secs(3);
/// Threads that stay even without work.
const KEPT: usize = 1;

/// A driver's task from the queue.
#[derive(Debug)]
pub(crate) enum Task {
    /// Serve this connection; the taker owns it from now on.
    Serve(Arc<Connection>),
    /// Take the next client.
    Accept(Arc<Acceptor>),
}

/// The pool of a server.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Wakes idle threads after an appointment, or when the pool closes.
    work: Condvar,
    ended: Condvar,
    /// The queue's length, for a check without the lock.
    queued: AtomicUsize,
    taken: AtomicUsize,
    monitor: Monitor,
    pace: Pace,
    /// For the lines about failed starts of threads.
    failing: Throttle,
    /// The wanted number of drivers, and the most threads.
    drivers: usize,
    most: usize,
    stack: usize,
    /// How long an idle connection stays with its driver.
    linger: Duration,
}

#[derive(Default)]
struct State {
    queue: Queue,
    workers: Vec<Arc<Worker>>,
    threads: usize,
    /// Idle threads, and started threads that do not run yet.
    sleeping: usize,
    starting: usize,
    /// Appointments not yet taken by a thread; never more than `sleeping` and `starting`.
    appointed: usize,
    /// Driving and appointed threads.
    drivers: usize,
    closing: bool,
}

impl Pool {
    /// A pool with its first thread, so a system without threads is noticed at once.
    pub(crate) fn new(options: &ServerOptions) -> io::Result<Arc<Self>> {
        let processors = thread::available_parallelism().map_or(2, usize::from);
        let pool = Arc::new(Self {
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            queued: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            monitor: Monitor::new(),
            pace: Pace::new(),
            failing: Throttle::default(),
            drivers: processors.clamp(2, SPARE / 2),
            most: options.max_running_calls + options.max_waiting_calls + SPARE,
            stack: options.stack_bytes,
            linger: options.linger,
        });
        pool.monitor.start(&pool)?;
        pool.lock().start_driver();
        pool.spawn().inspect_err(|_| pool.monitor.stop())?;
        Ok(pool)
    }

    /// Has a driver see to `task`.
    pub(crate) fn push(self: &Arc<Self>, task: Task) {
        let mut state = self.lock();
        state.queue.push(task);
        self.queued.fetch_add(1, SeqCst);
        if self.lacks_drivers(&state) {
            return self.appoint(state);
        }
        // A non-waiting driver checks the queue before it waits, and before it retires.
        let waiting = state.workers.iter().filter(|worker| worker.is_waiting());
        let with_room = waiting.filter(|worker| worker.has_room());
        if let Some(worker) = with_room.min_by_key(|worker| worker.load()) {
            worker.rouse_for_queue();
        }
    }

    /// The next task, for a driver.
    pub(crate) fn take(&self) -> Option<Task> {
        if !self.has_queued() {
            return None;
        }
        let mut state = self.lock();
        let task = state.queue.pop()?;
        self.queued.fetch_sub(1, SeqCst);
        self.taken.fetch_add(1, SeqCst);
        Some(task)
    }

    /// How many tasks drivers have taken so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(SeqCst)
    }

    /// Whether there is something to take.
    pub(crate) fn has_queued(&self) -> bool {
        self.queued.load(SeqCst) > 0
    }

    /// Appoints one more driver although there are enough, because they cannot take the queued
    /// tasks; unless one is on its way: on a busy machine that takes a while.
    pub(crate) fn help(self: &Arc<Self>) {
        let state = self.lock();
        if state.appointed == 0 {
            self.appoint(state);
        }
    }

    /// A driver has given up its connections because of a slow call; it goes on with the call.
    pub(crate) fn dismiss(&self) {
        self.lock().drivers -= 1;
    }

    /// Whether a failure may be logged; see [`Throttle::pass`].
    fn may_log_failure(&self) -> Option<u64> {
        self.failing.pass()
    }

    fn workers(&self) -> Vec<Arc<Worker>> {
        self.lock().workers.clone()
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.lock().threads
    }

    /// How many connections this thread has, if it is one of the pool's.
    #[cfg(test)]
    pub(crate) fn held_by_this_thread(&self) -> Option<usize> {
        let workers = self.workers();
        let own = workers.iter().find(|worker| worker.is_this_thread())?;
        Some(own.load())
    }

    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Ends the threads once they have nothing to do. Waits until at most `busy` of them are left,
    /// but not longer than `deadline`.
    pub(crate) fn close(&self, deadline: Instant, busy: impl Fn() -> usize) {
        let mut state = self.lock();
        state.closing = true;
        self.work.notify_all();
        while state.threads > busy() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        self.monitor.stop();
    }

    /// Whether there are fewer drivers than there should be, or all wait and can take no more.
    fn lacks_drivers(&self, state: &State) -> bool {
        let waiting = state.workers.iter().filter(|worker| worker.is_waiting());
        let full = waiting.filter(|worker| !worker.has_room()).count();
        state.drivers < self.drivers || state.drivers == full
    }

    /// Makes an idle thread a driver, or a new one.
    fn appoint(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.sleeping + state.starting > state.appointed {
            state.drivers += 1;
            state.appointed += 1;
            drop(state);
            return self.work.notify_one();
        }
        if state.threads >= self.most || state.closing {
            return;
        }
        state.start_driver();
        drop(state);
        if let Err(error) = self.spawn() {
            self.could_not_start(&error);
        }
    }

    /// Queued tasks stay queued for the existing threads. These may all be within slow calls, so the monitor tries
    /// again; a panic of the log costs no connection.
    fn could_not_start(&self, error: &io::Error) {
        self.monitor.rouse();
        if let Some(held_back) = self.may_log_failure() {
            contain("logging", || {
                tracing::warn!(%error, held_back, "cannot start another thread");
            });
        }
    }

    /// Starts a thread that is already counted; a failed start uncounts it.
    fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let started = Worker::new().and_then(|worker| {
            let pool = Arc::clone(self);
            thread::Builder::new()
                .name("transport".to_owned())
                .stack_size(self.stack)
                .spawn(move || pool.work(&Arc::new(worker)))
        });
        started
            .map(drop)
            .inspect_err(|_| self.lock().unstart_driver())
    }

    fn work(self: &Arc<Self>, worker: &Arc<Worker>) {
        let mut state = self.lock();
        state.starting -= 1;
        worker.enter();
        state.workers.push(Arc::clone(worker));
        drop(state);
        while self.wait_for_appointment() {
            if contain("a transport thread", || round::drive(self, worker)).is_none() {
                contain("giving connections back", || worker.abandon(self));
            }
            if worker.retire() {
                self.dismiss();
            }
        }
        let mut state = self.lock();
        state.workers.retain(|other| !Arc::ptr_eq(other, worker));
        state.threads -= 1;
        drop(state);
        self.ended.notify_all();
    }

    /// False when the thread is to end.
    fn wait_for_appointment(&self) -> bool {
        let mut state = self.lock();
        let mut is_spare = false;
        loop {
            if state.appointed > 0 {
                state.appointed -= 1;
                return true;
            }
            // Queued when this thread was still a driver, and left to it.
            if !state.queue.is_empty() && self.lacks_drivers(&state) {
                state.drivers += 1;
                return true;
            }
            if state.closing || is_spare && state.threads > KEPT && sys::thread_may_end() {
                return false;
            }
            state.sleeping += 1;
            let waited = self.work.wait_timeout(state, IDLE);
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.sleeping -= 1;
            is_spare = timeout.timed_out();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn start_driver(&mut self) {
        self.threads += 1;
        self.starting += 1;
        self.appointed += 1;
        self.drivers += 1;
    }

    fn unstart_driver(&mut self) {
        self.threads -= 1;
        self.starting -= 1;
        // Unless another thread has taken the appointment meanwhile, and drives.
        if self.appointed > self.sleeping + self.starting {
            self.appointed -= 1;
            self.drivers -= 1;
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads())
            .finish_non_exhaustive()
    }
}
