//! Binding endpoints, and shutting down.

mod acceptor;
mod budget;
mod calls;
mod client;
mod eviction;
mod shared;
mod taken;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, mem};

use thiserror::Error;

use self::taken::{Attempt, Taken};
use crate::conn::{Connection, later};
use crate::sys::Listener;
use crate::{Endpoint, ServerOptions, Service};

pub(crate) use acceptor::Acceptor;
pub(crate) use budget::{Account, Budget};
pub(crate) use calls::{CallSlot, Calls, Refusal, Whose};
pub(crate) use client::Client;
pub(crate) use shared::{Binding, Groups, Shared};

/// The most time for cutting the rest after a shutdown.
const CUTTING: Duration = Duration::from_secs(1);

/// A server with its endpoints. Dropping it closes all connections at once.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    /// None are left once it has been shut down.
    acceptors: Mutex<Vec<Arc<Acceptor>>>,
    /// The endpoints served by other processes.
    taken: Taken,
}

/// A server's load at a moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// Open connections, silent and idle ones included.
    pub connections: usize,
    /// Running calls.
    pub running_calls: usize,
    /// Calls waiting for others ([`crate::Waiting`]), not among the running ones.
    pub waiting_calls: usize,
    /// Threads of the pool.
    pub threads: usize,
    /// The bytes of incomplete requests, running requests and unsent responses.
    pub held_bytes: usize,
    /// Clients closed at once since the start, because there were too many.
    pub turned_away: u64,
    /// Failed accepts since the start.
    pub failed_accepts: u64,
    /// Calls refused since the start, because too many ran.
    pub refused_calls: u64,
}

/// The rest after a shutdown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DrainReport {
    /// How long the shutdown took.
    pub elapsed: Duration,
    /// Connections cut because they had not ended in time.
    pub severed_connections: usize,
    /// Calls that have not ended; their threads end with them.
    pub abandoned_calls: usize,
}

/// Why a server could not be started. Nothing of it is left.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// These endpoints could not be created; each with its reason.
    #[error("cannot listen on {}", list(.0))]
    Endpoints(Vec<EndpointFailure>),
    /// The server's threads or events could not be created.
    #[error("cannot start the server's threads")]
    Threads(#[source] io::Error),
}

/// One endpoint, and why it could not be created.
#[derive(Debug, Error)]
#[error("{endpoint}: {source}")]
pub struct EndpointFailure {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The system's error.
    pub source: io::Error,
}

impl Server {
    /// Creates all endpoints, and serves them only when all could be created.
    ///
    /// # Errors
    /// When an endpoint cannot be created: it is served already, its security descriptor is
    /// malformed, or the system refuses. All failures are named, and the created endpoints are
    /// closed again.
    pub fn bind(
        services: Vec<(Endpoint, Arc<dyn Service>)>,
        options: ServerOptions,
    ) -> Result<Self, BindError> {
        let attempt = Attempt::at(services, &options);
        match attempt.failures.is_empty() {
            true => Self::serve(attempt, options),
            false => Err(BindError::Endpoints(attempt.failures())),
        }
    }

    /// As [`Server::bind`], but skips endpoints served by another process as long as one is free: [`Server::taken`]
    /// lists them, and [`Server::retry_taken`] tries them again.
    ///
    /// # Errors
    /// As [`Server::bind`], when all endpoints are served already, or one cannot be created for another reason.
    pub fn bind_free(
        services: Vec<(Endpoint, Arc<dyn Service>)>,
        options: ServerOptions,
    ) -> Result<Self, BindError> {
        let attempt = Attempt::at(services, &options);
        match attempt.is_worth_serving() {
            true => Self::serve(attempt, options),
            false => Err(BindError::Endpoints(attempt.failures())),
        }
    }

    fn serve(attempt: Attempt, options: ServerOptions) -> Result<Self, BindError> {
        let shared = Shared::new(options, &attempt.groups).map_err(BindError::Threads)?;
        let server = Self {
            shared: Arc::new(shared),
            acceptors: Mutex::default(),
            taken: Taken::new(attempt.failures),
        };
        for (binding, listener) in attempt.bound {
            let acceptor =
                Acceptor::open(binding, listener, &server.shared).map_err(BindError::Threads)?;
            server.acceptors().push(acceptor);
        }
        for acceptor in &*server.acceptors() {
            acceptor.start().map_err(BindError::Threads)?;
        }
        Ok(server)
    }

    /// The endpoints served by other processes, after [`Server::bind_free`].
    pub fn taken(&self) -> Vec<Endpoint> {
        self.taken.endpoints()
    }

    /// Tries once more to serve the taken endpoints, and returns the freed ones: they are served here now.
    pub fn retry_taken(&self) -> Vec<Endpoint> {
        self.taken
            .retry(&self.shared.options, |binding, listeners| {
                self.join(binding, listeners)
            })
    }

    /// Begins to serve one endpoint more, or leaves nothing of it.
    fn join(&self, binding: &Arc<Binding>, listeners: Vec<Listener>) -> io::Result<()> {
        let mut opened = Vec::new();
        let open = |listener| {
            opened.push(Acceptor::open(Arc::clone(binding), listener, &self.shared)?);
            Ok(())
        };
        let all_opened = listeners.into_iter().try_for_each(open);
        let started = all_opened.and_then(|()| self.start(&opened));
        if started.is_err() {
            opened.iter().for_each(|acceptor| acceptor.close());
        }
        started
    }

    /// Starts acceptors, unless the server is shutting down: a shutdown sets the flag and then closes the acceptors
    /// that it finds here.
    fn start(&self, opened: &[Arc<Acceptor>]) -> io::Result<()> {
        let mut acceptors = self.acceptors();
        if self.shared.draining.load(Ordering::Acquire) {
            return Err(io::Error::other("the server is shutting down"));
        }
        opened.iter().try_for_each(|acceptor| acceptor.start())?;
        acceptors.extend(opened.iter().cloned());
        Ok(())
    }

    /// The server's load now.
    pub fn usage(&self) -> Usage {
        Usage {
            connections: self.shared.connections.len(),
            running_calls: self.shared.calls.running(),
            waiting_calls: self.shared.calls.waiting(),
            threads: self.shared.pool.threads(),
            held_bytes: self.shared.budget.used(),
            turned_away: self.shared.turned_away.load(Ordering::Relaxed),
            failed_accepts: self.shared.failed_accepts.load(Ordering::Relaxed),
            refused_calls: self.shared.refused_calls.load(Ordering::Relaxed),
        }
    }

    /// Accepts no more clients, refuses new calls as `Unavailable` and asks the clients to go. Waits
    /// up to `drain` for running calls, also after their client left or their deadline passed; then
    /// closes the remaining connections.
    ///
    /// A call still running then keeps its thread until its end, since it keeps its locks; the
    /// report counts it. A second shutdown, later or meanwhile, waits for the rest as well and cuts
    /// it after its own time.
    pub fn shutdown(&self, drain: Duration) -> DrainReport {
        let start = Instant::now();
        // A client being accepted now either sees this or is among the connections below.
        self.shared.draining.store(true, Ordering::Release);
        let acceptors = mem::take(&mut *self.acceptors());
        for acceptor in acceptors {
            acceptor.close();
        }
        let connections = &self.shared.connections;
        connections.all().iter().for_each(Connection::want_turn);
        let deadline = later(start, drain);
        let severed_connections = connections.wait_empty(deadline);
        // A call goes on when its client has left, or was answered by its deadline.
        self.shared.calls.wait_none(deadline);
        connections.all().iter().for_each(Connection::sever);
        self.shared
            .pool
            .close(Instant::now() + CUTTING, || self.shared.calls.alive());
        let abandoned_calls = self.shared.calls.alive();
        DrainReport {
            elapsed: start.elapsed(),
            severed_connections,
            abandoned_calls,
        }
    }

    fn acceptors(&self) -> MutexGuard<'_, Vec<Arc<Acceptor>>> {
        self.acceptors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.shared.draining.load(Ordering::Acquire) {
            self.shutdown(Duration::ZERO);
        }
    }
}

fn list(failures: &[EndpointFailure]) -> String {
    failures
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use super::*;
    use crate::pool::Pool;
    use crate::{Call, Channel, ChannelOptions, Status};

    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Reports that a call has begun, and holds it until it may end.
    struct HoldingService {
        begun: Sender<()>,
        end: Mutex<Receiver<()>>,
    }

    impl Service for HoldingService {
        fn call(&self, _: &Call) -> Result<Vec<u8>, Status> {
            self.begun.send(()).unwrap();
            self.end.lock().unwrap().recv_timeout(TIMEOUT).unwrap();
            Ok(Vec::new())
        }
    }

    fn eventually(what: &str, condition: impl Fn() -> bool) {
        let end = Instant::now() + TIMEOUT;
        while !condition() {
            assert!(Instant::now() < end, "it never came to pass that {what}");
            thread::yield_now();
        }
    }

    #[test]
    fn a_shutdown_waits_for_a_call_that_no_client_waits_for() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("transport-test-{}-nobody", std::process::id());
        let endpoint = Endpoint::local(folder.path(), &name).unwrap();
        let ((begun, begins), (may_end, end)) = (channel(), channel());
        let service: Arc<dyn Service> = Arc::new(HoldingService {
            begun,
            end: Mutex::new(end),
        });
        let served = vec![(endpoint.clone(), service)];
        let server = Server::bind(served, ServerOptions::default()).unwrap();
        let client = Channel::connect(endpoint, ChannelOptions::default()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(1);
        assert!(client.call("/v1.Test/Held", b"", deadline).is_err());
        begins.recv_timeout(TIMEOUT).unwrap();
        drop(client);
        eventually("it is forgotten", || server.usage().connections == 0);
        thread::scope(|scope| {
            let stopping = scope.spawn(|| server.shutdown(TIMEOUT));
            eventually("it waits", || server.shared.calls.is_awaited());
            may_end.send(()).unwrap();
            assert_eq!(stopping.join().unwrap().abandoned_calls, 0);
        });
    }

    /// Notes how many connections the thread of a call has.
    #[derive(Default)]
    struct Crowd {
        pool: OnceLock<Arc<Pool>>,
        most: AtomicUsize,
    }

    impl Service for Crowd {
        fn call(&self, _: &Call) -> Result<Vec<u8>, Status> {
            if let Some(pool) = self.pool.get() {
                let held = pool.held_by_this_thread().unwrap();
                self.most.fetch_max(held, Ordering::SeqCst);
            }
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_method_that_was_slow_leaves_its_thread_no_connections() {
        const SLOW: &str = "/v1.Test/Slow";
        const CLIENTS: usize = 40;
        let folder = tempfile::tempdir().unwrap();
        let name = format!("transport-test-{}-crowd", std::process::id());
        let endpoint = Endpoint::local(folder.path(), &name).unwrap();
        let crowd = Arc::new(Crowd::default());
        let service: Arc<dyn Service> = Arc::clone(&crowd) as _;
        let options = ServerOptions {
            linger: TIMEOUT,
            ..ServerOptions::default()
        };
        let server = Server::bind(vec![(endpoint.clone(), service)], options).unwrap();
        let call = |channel: &Channel| channel.call(SLOW, b"", Instant::now() + TIMEOUT).unwrap();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| Channel::connect(endpoint.clone(), ChannelOptions::default()).unwrap())
            .inspect(|channel| drop(call(channel)))
            .collect();
        let pool = Arc::clone(&server.shared.pool);
        for channel in &clients {
            (0..4).for_each(|_| pool.pace().note(SLOW, TIMEOUT));
            crowd.pool.get_or_init(|| Arc::clone(&pool));
            call(channel);
        }
        assert_eq!(crowd.most.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_refused_call_of_a_slow_method_costs_no_hand_over() {
        const SLOW: &str = "/v1.Test/Slow";
        let folder = tempfile::tempdir().unwrap();
        let name = format!("transport-test-{}-refused", std::process::id());
        let endpoint = Endpoint::local(folder.path(), &name).unwrap();
        let options = ServerOptions {
            max_running_calls: 0,
            ..ServerOptions::default()
        };
        let service: Arc<dyn Service> = Arc::new(Crowd::default());
        let server = Server::bind(vec![(endpoint.clone(), service)], options).unwrap();
        let client = Channel::connect(endpoint, ChannelOptions::default()).unwrap();
        let pool = &server.shared.pool;
        (0..4).for_each(|_| pool.pace().note(SLOW, TIMEOUT));
        let taken_by_calls_of = |method: &str| {
            let before = pool.taken();
            let call = || client.call(method, b"", Instant::now() + TIMEOUT);
            assert!((0..100).all(|_| call().is_err()));
            pool.taken() - before
        };
        let (fast, slow) = (taken_by_calls_of("/v1.Test/Fast"), taken_by_calls_of(SLOW));
        assert!(slow < fast + 50, "{slow} tasks instead of {fast}");
    }
}
