//! What the connections of a server have in common.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fmt, io};

use thiserror::Error;

use super::client::Clients;
use super::{Budget, Client};
use crate::conn::Connection;
use crate::pool::Pool;
use crate::sys::{Stream, Watcher};
use crate::throttle::Throttle;
use crate::{Endpoint, Peer, ServerOptions, Service};

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServerOptions,
    pub(crate) pool: Arc<Pool>,
    pub(crate) watcher: Watcher,
    pub(crate) connections: Connections,
    pub(crate) calls: Calls,
    pub(crate) budget: Budget,
    /// Clients that were closed at once, tries to take one that failed, and calls that were not
    /// run because there were too many.
    pub(super) turned_away: AtomicU64,
    pub(super) failed_accepts: AtomicU64,
    pub(crate) refused_calls: AtomicU64,
    /// The server is shutting down.
    pub(crate) draining: AtomicBool,
}

impl Shared {
    pub(crate) fn new(options: ServerOptions) -> io::Result<Self> {
        Ok(Self {
            pool: Pool::new(&options)?,
            watcher: Watcher::new()?,
            connections: Connections::default(),
            calls: Calls::new(options.max_running_calls, options.max_process_calls),
            budget: Budget::new(options.max_held_bytes),
            turned_away: AtomicU64::new(0),
            failed_accepts: AtomicU64::new(0),
            refused_calls: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            options,
        })
    }
}

/// An endpoint and what it serves.
pub(crate) struct Binding {
    pub(crate) endpoint: Endpoint,
    pub(crate) service: Arc<dyn Service>,
    /// Of the lines about clients that are turned away, about those that cannot be taken, and about
    /// calls that are refused.
    pub(super) turning_away: Throttle,
    pub(super) failing: Throttle,
    pub(crate) refusing: Throttle,
}

impl Binding {
    pub(crate) fn new(endpoint: Endpoint, service: Arc<dyn Service>) -> Self {
        Self {
            endpoint,
            service,
            turning_away: Throttle::default(),
            failing: Throttle::default(),
            refusing: Throttle::default(),
        }
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// Counts the calls that run.
///
/// # Waiting for none
/// The end of the last call says so to those who wait, and costs a system call only when there are
/// any: who waits marks that first and then looks at the count, a call leaves the count first and
/// then looks for the mark. All four are sequentially consistent, so at least one sees the other.
#[derive(Debug)]
pub(crate) struct Calls {
    running: AtomicUsize,
    most: usize,
    /// Of them, those that one process may have.
    share: usize,
    /// Somebody waits, or has waited, until none runs.
    awaited: AtomicBool,
    /// Held from the mark to the wait, so that no end is told in between.
    waiting: Mutex<()>,
    ended: Condvar,
}

/// A call that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Admission<'a> {
    calls: &'a Calls,
    client: &'a Client,
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
    fn new(most: usize, share: usize) -> Self {
        Self {
            running: AtomicUsize::new(0),
            most,
            share,
            awaited: AtomicBool::new(false),
            waiting: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Counts one more call, unless there are too many.
    pub(crate) fn admit<'a>(&'a self, client: &'a Client) -> Result<Admission<'a>, Refusal> {
        if !client.begin_call(self.share) {
            return Err(Refusal::Share(self.share));
        }
        let before = self.running.fetch_add(1, Ordering::SeqCst);
        let admission = Admission {
            calls: self,
            client,
        };
        match before < self.most {
            true => Ok(admission),
            false => Err(Refusal::Full(self.most)),
        }
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Waits until no call runs, whoever still waits for its answer, but not longer than
    /// `deadline`.
    pub(super) fn wait_none(&self, deadline: Instant) {
        let mut waiting = self.lock();
        self.awaited.store(true, Ordering::SeqCst);
        while self.running() > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.ended.wait_timeout(waiting, left);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    #[cfg(test)]
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.client.end_call();
        let calls = self.calls;
        let before = calls.running.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && calls.awaited.load(Ordering::SeqCst) {
            drop(calls.lock());
            calls.ended.notify_all();
        }
    }
}

/// The open connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    clients: Mutex<Clients>,
    emptied: Condvar,
    next_id: AtomicU64,
}

impl Connections {
    /// Takes a client's stream, unless there are too many. It is counted as turned away before it is
    /// closed, so that a client that sees the end finds itself in the count.
    pub(super) fn open(
        &self,
        stream: Stream,
        binding: &Arc<Binding>,
        shared: &Arc<Shared>,
    ) -> io::Result<Arc<Connection>> {
        let client = self.client(stream.peer());
        let turned_away = |why| {
            shared.turned_away.fetch_add(1, Ordering::Relaxed);
            io::Error::other(why)
        };
        let mut open = self.lock();
        if open.len() >= shared.options.max_connections {
            return Err(turned_away("too many connections are open"));
        }
        if !client.begin_connection(shared.options.max_process_connections) {
            return Err(turned_away("its process has too many connections open"));
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let connection =
            Connection::new(id, stream, &client, binding, shared).inspect_err(|_| {
                client.end_connection();
                shared.turned_away.fetch_add(1, Ordering::Relaxed);
            })?;
        open.insert(id, Arc::clone(&connection));
        Ok(connection)
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Forgets a connection; false when it was forgotten already.
    pub(crate) fn remove(&self, id: u64) -> bool {
        let mut open = self.lock();
        let removed = open.remove(&id);
        if open.is_empty() {
            self.emptied.notify_all();
        }
        drop(open);
        removed
            .inspect(|connection| connection.client().end_connection())
            .is_some()
    }

    /// The one that holds the most of the server's budget.
    pub(crate) fn largest(&self) -> Option<Arc<Connection>> {
        let open = self.lock();
        open.values()
            .max_by_key(|connection| connection.held())
            .cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Connection>> {
        self.lock().values().cloned().collect()
    }

    /// Returns how many are left.
    pub(super) fn wait_empty(&self, deadline: Instant) -> usize {
        let mut open = self.lock();
        while !open.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            open = self
                .emptied
                .wait_timeout(open, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        open.len()
    }

    fn client(&self, peer: Peer) -> Arc<Client> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.find(peer)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn who_waits_for_the_calls_hears_of_the_last_end() {
        let calls = Calls::new(2, 2);
        let client = Client::default();
        let first = calls.admit(&client).unwrap();
        let last = calls.admit(&client).unwrap();
        let deadline = Instant::now() + PATIENCE;
        thread::scope(|scope| {
            let waiting = scope.spawn(|| calls.wait_none(deadline));
            while !calls.is_awaited() {
                thread::yield_now();
            }
            // Held by the one who waits until it does.
            drop(calls.lock());
            drop(first);
            assert!(!waiting.is_finished());
            drop(last);
            waiting.join().unwrap();
            assert!(Instant::now() < deadline, "it was told, not tired");
        });
    }

    #[test]
    fn who_waits_for_calls_waits_no_longer_than_told() {
        let calls = Calls::new(1, 1);
        let client = Client::default();
        let _running = calls.admit(&client).unwrap();
        calls.wait_none(Instant::now() + Duration::from_millis(1));
        assert_eq!(calls.running(), 1);
    }
}
