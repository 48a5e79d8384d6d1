//! The threads that query one namespace of WMI.
//!
//! A namespace has at most three threads, in the multithreaded apartment. The node uses three namespaces (`Root\CimV2`,
//! storage, SMB), each with a pool. Each thread keeps one connection. After a code of RPC it drops the connection,
//! unless WMI's own error object came with the code. If the code reports that the connection is gone, a query returns
//! to the front of the queue, once, for a newer connection; a method returns only if it was never sent.
//!
//! A thread begins calls and polls all of them for their ends in turns of milliseconds. Only connecting blocks the
//! thread, for up to two minutes. A thread connects while it has no calls under way, and another, connected thread may
//! take the request meanwhile: a hung call delays only its own callers. A class definition is fetched in the same way,
//! within two minutes whatever the deadline, and kept with the connection.
//!
//! A thread counts as idle before it sends its reply, so one caller needs one thread. If a call panics its thread, the
//! callers of the thread's calls get an error, and the pool starts a replacement.
//!
//! A caller waits until its deadline. Then a query is cancelled, and a method waiting for its definition is never sent.
//! A sent method goes on without an observer, so `node` runs changing methods under its lock and without a deadline.

use std::rc::Rc;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use automation::WmiError;
use os::Cause;
use os::schema::Namespace;

use super::com::Called;
use super::job::{Job, PendingJob, Request};
use super::queue::{Duty, Queue, Standing, ThreadNumber};
use super::session::{Connection, Generation, Session};
use super::{Connect, worker};

/// A few threads in the multithreaded apartment, querying one namespace of WMI for all callers. They start on demand
/// and stay, with their connections, until the pool is dropped.
pub(super) struct Pool(Arc<Shared>);

impl Pool {
    pub(super) fn new(connect: Arc<dyn Connect>, namespace: Namespace) -> Self {
        Self(Arc::new(Shared {
            connect,
            namespace,
            queue: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// The job's reply, or [`Cause::TimedOut`] after `patience`. Then a query is given up; a begun
    /// method goes on in the provider, and one not yet begun never starts.
    pub(super) fn ask<J: Job>(&self, job: J, patience: Duration) -> Called<J::Reply> {
        let (asked, asker) = PendingJob::new(job);
        self.submit(Box::new(asked))?;
        match asker.answer.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.0.lock().abandon(&asker);
                Err(Cause::TimedOut.into())
            }
            Err(RecvTimeoutError::Disconnected) => Err(died()),
        }
    }

    /// How many threads it has.
    #[cfg(test)]
    pub(super) fn threads(&self) -> usize {
        self.0.lock().threads()
    }

    /// How many requests no thread has taken.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.0.lock().waiting()
    }

    fn submit(&self, request: Box<dyn Request>) -> Called<()> {
        let mut queue = self.0.lock();
        queue.push(request);
        let enough = ensure_threads(&self.0, &mut queue);
        if queue.threads() == 0 {
            queue.first();
            return enough;
        }
        drop(queue);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl Drop for Pool {
    /// The threads end by themselves: one may hang in a call to the system.
    fn drop(&mut self) {
        self.0.lock().close();
        self.0.changed.notify_all();
    }
}

/// A thread serves several calls, so this bounds how many threads of a namespace can hang in connecting, the only wait
/// without a bound. One thread may hang there and one may keep a broken connection for ongoing calls, while the third
/// serves.
pub(super) const MOST_THREADS: usize = 3;

pub(super) struct Shared {
    connect: Arc<dyn Connect>,
    namespace: Namespace,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread when one is lacking and may be had.
fn ensure_threads(shared: &Arc<Shared>, queue: &mut Queue) -> Called<()> {
    if !queue.is_short_of_threads() || queue.threads() >= MOST_THREADS {
        return Ok(());
    }
    let thread = queue.next_thread();
    let shared = Arc::clone(shared);
    let started = thread::Builder::new()
        .name("wmi".to_owned())
        .spawn(move || worker::work(&PoolSlot { shared, thread }));
    started.map_err(|_| Cause::Unavailable("a thread for WMI"))?;
    queue.set_standing(thread, Standing::Idle(None));
    Ok(())
}

fn died() -> WmiError {
    Cause::Malformed("the thread that asked WMI ended".to_owned()).into()
}

/// The task of a thread without calls.
pub(super) enum Task {
    /// Begin this over its connection.
    Begin(Box<dyn Request>, Rc<Connection>),
    Otherwise(Duty),
}

/// A thread's place in the pool, free again at any end of the thread.
pub(super) struct PoolSlot {
    shared: Arc<Shared>,
    thread: ThreadNumber,
}

impl PoolSlot {
    pub(super) fn session(&self) -> Session {
        Session::new(Arc::clone(&self.shared.connect), self.shared.namespace)
    }

    /// Waits for a task, as an idle thread.
    pub(super) fn wait(&self, own: Option<Rc<Connection>>) -> Task {
        let mut queue = self.shared.lock();
        loop {
            if let Some(own) = &own
                && let Some(request) = queue.begin(self.thread, own.generation)
            {
                return Task::Begin(request, Rc::clone(own));
            }
            if let Some(duty) = queue.duty(self.thread) {
                return Task::Otherwise(duty);
            }
            queue = self
                .shared
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A request for a thread with calls under way.
    pub(super) fn spare(&self, own: Generation) -> Option<Box<dyn Request>> {
        self.shared.lock().spare(own)
    }

    /// Has nothing under way any more.
    pub(super) fn become_idle(&self, own: Option<Generation>) {
        let standing = Standing::Idle(own);
        self.shared.lock().set_standing(self.thread, standing);
    }

    /// It has no connection for this one, if it still waits, and is idle.
    pub(super) fn refused(&self) -> Option<Box<dyn Request>> {
        let mut queue = self.shared.lock();
        let claimed = queue.claimed(self.thread);
        queue.set_standing(self.thread, Standing::Idle(None));
        claimed
    }

    /// All requests that others will not take, for a thread that cannot work.
    pub(super) fn left_over(&self) -> Vec<Box<dyn Request>> {
        let mut queue = self.shared.lock();
        queue.set_standing(self.thread, Standing::Busy);
        let mut left = Vec::new();
        while queue.is_short_of_threads() {
            left.extend(queue.first());
        }
        left
    }

    /// For whichever thread is free first, this one or another.
    pub(super) fn put_back(&self, request: Box<dyn Request>) {
        let mut queue = self.shared.lock();
        queue.put_back(request);
        // If no more can be started, this one remains.
        let _ = ensure_threads(&self.shared, &mut queue);
        drop(queue);
        self.shared.changed.notify_all();
    }
}

impl Drop for PoolSlot {
    /// A panicked thread leaves its waiting requests to the others, or to a new one.
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.leave(self.thread);
        let _ = ensure_threads(&self.shared, &mut queue);
        if queue.threads() == 0 {
            queue.give_up();
        }
        drop(queue);
        self.shared.changed.notify_all();
    }
}
