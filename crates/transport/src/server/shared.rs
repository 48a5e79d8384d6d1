//! State shared by the connections of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fmt, io};

use super::calls::{Calls, Group};
use super::client::Clients;
use super::eviction::{self, Room};
use super::{Budget, Client};
use crate::conn::Connection;
use crate::pool::Pool;
use crate::sys::{Stream, Watcher};
use crate::throttle::Throttle;
use crate::{Endpoint, ServerOptions, Service};

/// State shared by all connections of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServerOptions,
    pub(crate) pool: Arc<Pool>,
    pub(crate) watcher: Watcher,
    pub(crate) connections: Connections,
    pub(crate) calls: Calls,
    pub(crate) budget: Budget,
    started: Instant,
    /// Clients closed at once, failed accepts, and calls refused because there were too many.
    pub(super) turned_away: AtomicU64,
    pub(super) failed_accepts: AtomicU64,
    pub(crate) refused_calls: AtomicU64,
    /// The server is shutting down.
    pub(crate) draining: AtomicBool,
}

impl Shared {
    pub(crate) fn new(options: ServerOptions, groups: &Groups) -> io::Result<Self> {
        Ok(Self {
            pool: Pool::new(&options)?,
            watcher: Watcher::new()?,
            connections: Connections::default(),
            calls: Calls::new(&options, groups.0.len()),
            budget: Budget::new(options.max_held_bytes),
            started: Instant::now(),
            turned_away: AtomicU64::new(0),
            failed_accepts: AtomicU64::new(0),
            refused_calls: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            options,
        })
    }

    /// A time as microseconds since the start.
    pub(crate) fn micros(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.started);
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX - 1)
    }
}

/// An endpoint and its service.
pub(crate) struct Binding {
    pub(crate) endpoint: Endpoint,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) group: Arc<Group>,
    /// For the lines about clients turned away, failed accepts, and refused calls.
    pub(super) turning_away: Throttle,
    pub(super) failing: Throttle,
    pub(crate) refusing: Throttle,
}

impl Binding {
    pub(crate) fn new(endpoint: Endpoint, service: Arc<dyn Service>, groups: &mut Groups) -> Self {
        Self {
            endpoint,
            group: groups.of(&*service),
            service,
            turning_away: Throttle::default(),
            failing: Throttle::default(),
            refusing: Throttle::default(),
        }
    }
}

/// The groups of all bound services, by name.
#[derive(Default)]
pub(crate) struct Groups(HashMap<String, Arc<Group>>);

impl Groups {
    fn of(&mut self, service: &dyn Service) -> Arc<Group> {
        let group = self.0.entry(service.group().to_owned());
        Arc::clone(group.or_default())
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
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
    /// Takes a client's stream, unless there are too many and none of them has to make room. A client over a bound is
    /// counted as turned away before it is closed, so the count includes it once it sees the end.
    pub(super) fn open(
        &self,
        stream: Stream,
        binding: &Arc<Binding>,
        shared: &Arc<Shared>,
    ) -> io::Result<Arc<Connection>> {
        let client = self.client(&stream);
        let turned_away = |why| {
            shared.turned_away.fetch_add(1, Ordering::Relaxed);
            io::Error::other(why)
        };
        let mut open = self.lock();
        if !client.begin_connection(shared.options.max_process_connections) {
            return Err(turned_away("its process has too many connections open"));
        }
        let leaves = match eviction::room(&open, &client, shared.options.max_connections) {
            Room::Free => None,
            Room::After(connection) => Some(connection),
            Room::None => {
                client.end_connection();
                return Err(turned_away("too many connections are open"));
            }
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let connection =
            Connection::new(id, stream, &client, binding, shared).inspect_err(|_| {
                client.end_connection();
                shared.turned_away.fetch_add(1, Ordering::Relaxed);
            })?;
        open.insert(id, Arc::clone(&connection));
        leaves.iter().for_each(|leaves| leaves.leave());
        drop(open);
        leaves.iter().for_each(Connection::want_turn);
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

    /// The connection with the most bytes of the server's budget.
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

    fn client(&self, stream: &Stream) -> Arc<Client> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.find(stream.identity(), || stream.user())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
