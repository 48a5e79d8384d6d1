//! Takes connections away from threads within a slow call.
//!
//! The monitor checks all threads every [`TICK`]. A thread within the same call at two checks in a
//! row is slow: its connections go to other threads, and it keeps only its call. This costs a fast
//! call two writes to its thread's own memory. The monitor also appoints another driver if nothing
//! was taken from the queue between two checks.
//!
//! # Sleep
//! After [`QUIET`] checks without a new call the monitor sleeps without a timeout. A thread first
//! marks its call, then checks whether the monitor sleeps; the monitor first marks its sleep, then
//! checks the threads once more. Both are sequentially consistent, so at least one of them sees the
//! other's mark.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use super::{Pool, Worker};
use crate::panics::contain;

/// A call is slow after one to two of these, about the default tick of Windows's clock. If it is shorter, a thread that
/// a busy machine merely does not run looks slow, and that costs threads: at 5 ms, 32 clients on two processors under
/// Wine made twelve of them, at 15 ms six.
const TICK: Duration = Duration::from_millis(15);
const QUIET: u32 = 5;

#[derive(Debug)]
pub(crate) struct Monitor {
    asleep: AtomicBool,
    stopped: AtomicBool,
    thread: OnceLock<Thread>,
}

/// The monitor's view at one time.
#[derive(Default)]
struct Look {
    workers: Vec<Seen>,
    /// Tasks taken from the queue so far, and whether there are more.
    taken: usize,
    is_queued: bool,
}

/// The monitor's view of a thread.
struct Seen {
    worker: Arc<Worker>,
    calls: u64,
    /// Within a call, with connections to take away.
    holds: bool,
}

impl Monitor {
    pub(super) fn new() -> Self {
        Self {
            asleep: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            thread: OnceLock::new(),
        }
    }

    pub(super) fn start(&self, pool: &Arc<Pool>) -> io::Result<()> {
        let pool = Arc::downgrade(pool);
        let handle = thread::Builder::new()
            .name("transport-monitor".to_owned())
            .stack_size(128 << 10)
            .spawn(move || run(&pool))?;
        self.thread.get_or_init(|| handle.thread().clone());
        Ok(())
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, SeqCst);
        self.unpark();
    }

    /// There is something to watch: a thread has marked its call, or a task is queued and no thread could be started
    /// for it.
    pub(crate) fn rouse(&self) {
        if self.asleep.load(SeqCst) && self.asleep.swap(false, SeqCst) {
            self.unpark();
        }
    }

    fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

fn run(pool: &Weak<Pool>) {
    let mut before = Look::default();
    let mut quiet = 0;
    while let Some(pool) = pool.upgrade() {
        let monitor = &pool.monitor;
        if monitor.stopped.load(SeqCst) {
            return;
        }
        let now = Look::at(&pool);
        contain("the monitor", || now.act(&before, &pool));
        quiet = if now.is_quiet(&before) { quiet + 1 } else { 0 };
        before = now;
        if quiet < QUIET {
            drop(pool);
            thread::park_timeout(TICK);
            continue;
        }
        monitor.asleep.store(true, SeqCst);
        if Look::at(&pool).is_quiet(&before) {
            before = Look::default();
            drop(pool);
            thread::park();
        } else {
            monitor.asleep.store(false, SeqCst);
        }
    }
}

impl Look {
    fn at(pool: &Pool) -> Self {
        let see = |worker: Arc<Worker>| {
            let (calls, holds) = worker.calls();
            Seen {
                worker,
                calls,
                holds,
            }
        };
        Self {
            workers: pool.workers().into_iter().map(see).collect(),
            taken: pool.taken(),
            is_queued: pool.has_queued(),
        }
    }

    fn act(&self, before: &Self, pool: &Arc<Pool>) {
        for seen in self
            .workers
            .iter()
            .filter(|seen| seen.holds && before.has(seen))
        {
            seen.worker.relieve(pool);
        }
        if self.is_queued && before.is_queued && self.taken == before.taken {
            pool.help();
        }
    }

    /// Whether no thread began or ended a call since, and nothing has to be watched.
    fn is_quiet(&self, before: &Self) -> bool {
        !self.is_queued
            && self
                .workers
                .iter()
                .all(|seen| !seen.holds && before.has(seen))
    }

    /// Whether the thread was at the same call.
    fn has(&self, now: &Seen) -> bool {
        self.workers
            .iter()
            .any(|seen| Arc::ptr_eq(&seen.worker, &now.worker) && seen.calls == now.calls)
    }
}
