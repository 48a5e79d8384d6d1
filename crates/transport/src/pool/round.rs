//! A driver's rounds: take what is queued, read, wait, serve.
//!
//! Reads begin as late as can be: not after each call, but when the driver has served all that
//! was ready. On Windows a read that finds its data there already costs one system call and no
//! wait, while one that is left pending costs both and an event besides; under load most requests
//! are found that way.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{mem, thread};

use super::{Pool, Slot, Task, Worker};
use crate::conn::{Connection, Served};
use crate::sys::{self, Interest};

/// The thread has no connections any more: they were taken, or it gave them up.
struct Dismissed;

/// How long a thread that cannot wait does nothing, lest it spin.
const PAUSE: Duration = Duration::from_millis(1);
/// Rounds that may pass without a look at those connections that have a read pending.
const UNWAITED: u32 = 4;

/// What a driver needs from round to round.
struct Round<'a> {
    pool: &'a Arc<Pool>,
    worker: &'a Arc<Worker>,
    linger: Duration,
    /// By slot: what the last wait has found.
    ready: Vec<Interest>,
    /// Connections that are to be looked at in this round.
    due: Vec<Arc<Connection>>,
    /// Rounds since the last wait.
    unwaited: u32,
}

/// Drives until the thread has no connections.
pub(super) fn drive(pool: &Arc<Pool>, worker: &Arc<Worker>) {
    let linger = pool.linger;
    let mut round = Round {
        pool,
        worker,
        linger,
        ready: Vec::new(),
        due: Vec::new(),
        unwaited: 0,
    };
    while let Ok(()) = round.go()
        && worker.load() > 0
    {}
}

impl Round<'_> {
    fn go(&mut self) -> Result<(), Dismissed> {
        self.take_queued()?;
        let has_input = self.begin_reads()?;
        // Those whose input was there already may have more; the others get their turn as well.
        self.unwaited = if has_input { self.unwaited + 1 } else { 0 };
        if has_input && self.unwaited < UNWAITED {
            return Ok(());
        }
        self.unwaited = 0;
        self.wait(has_input);
        self.serve_due()
    }

    fn take_queued(&mut self) -> Result<(), Dismissed> {
        while self.worker.load() < Worker::MOST {
            let connection = match self.pool.take() {
                None => return Ok(()),
                Some(Task::Serve(connection)) => Some(connection),
                Some(Task::Accept(acceptor)) => acceptor.accept(),
            };
            if let Some(connection) = connection {
                self.add(&connection);
                connection.look(Interest::BOTH);
                self.serve(&connection)?;
            }
        }
        Ok(())
    }

    fn add(&self, connection: &Arc<Connection>) {
        connection.set_worker(self.worker);
        let slot = Slot::new(connection);
        self.worker.change(|slots| slots.push(slot));
    }

    /// Begins the reads of those that were served since the last wait, and serves those whose
    /// input is there already; false when there is none.
    fn begin_reads(&mut self) -> Result<bool, Dismissed> {
        let mut due = mem::take(&mut self.due);
        self.worker.change(|slots| {
            for slot in slots.iter_mut().filter(|slot| slot.stale) {
                match slot.connection.begin_wait() {
                    Some(wait) => (slot.wait, slot.stale) = (wait, false),
                    None => due.push(Arc::clone(&slot.connection)),
                }
            }
        });
        self.due = due;
        let has_input = !self.due.is_empty();
        self.serve_due()?;
        Ok(has_input)
    }

    /// Waits until a connection wants something or is idle for too long, and notes which are due;
    /// only looks when one has input already.
    fn wait(&mut self, has_input: bool) {
        self.worker.begin_wait();
        let mut slots = self.worker.slots();
        let now = Instant::now();
        let linger = match slots.len() == Worker::MOST && self.pool.has_queued() {
            true => Duration::ZERO,
            false => self.linger,
        };
        let next = slots.iter().map(|slot| slot.next(linger)).min();
        let timeout = match has_input || self.pool.has_queued() {
            true => Duration::ZERO,
            false => next.map_or(linger, |next| next.saturating_duration_since(now)),
        };
        if let Err(error) = sys::wait(self.worker.wakeup(), &slots, Some(timeout), &mut self.ready)
        {
            if let Some(held_back) = self.pool.may_log_failure() {
                tracing::warn!(%error, held_back, "cannot wait");
            }
            // Reading tells what is wrong with one of them, and the others are served meanwhile.
            self.ready.clear();
            self.ready.resize(slots.len(), Interest::BOTH);
            thread::sleep(PAUSE);
        }
        self.worker.end_wait();
        let now = Instant::now();
        let mut ready = self.ready.iter().copied();
        slots.retain(|slot| {
            let ready = ready.next().unwrap_or_default();
            if slot.wants_service(ready, now) {
                self.due.push(Arc::clone(&slot.connection));
                return true;
            }
            // One that was served just now has no read pending: nothing would wake it.
            slot.stale || slot.next(linger) > now || !slot.park()
        });
        self.worker.set_load(slots.len());
        drop(slots);
        // Those that were idle have just made room for what is queued.
        if !self.worker.has_room() && self.pool.has_queued() {
            self.pool.help();
        }
    }

    fn serve_due(&mut self) -> Result<(), Dismissed> {
        let mut due = mem::take(&mut self.due);
        let served = due
            .drain(..)
            .try_for_each(|connection| self.serve(&connection));
        self.due = due;
        served
    }

    fn serve(&mut self, connection: &Arc<Connection>) -> Result<(), Dismissed> {
        let is_own = |slot: &Slot| Arc::ptr_eq(&slot.connection, connection);
        match connection.serve(self.pool, self.worker) {
            Served::Waits(since) => self.worker.change(|slots| {
                if let Some(slot) = slots.iter_mut().find(|slot| is_own(slot)) {
                    (slot.since, slot.stale) = (since, true);
                }
            }),
            Served::Gone => self
                .worker
                .change(|slots| slots.retain(|slot| !is_own(slot))),
            Served::Robbed => return Err(Dismissed),
        }
        Ok(())
    }
}
