//! Binding endpoints, and shutting down.

mod acceptor;
mod shared;

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use thiserror::Error;

use crate::{
    Endpoint, ServerOptions, Service,
    conn::Connection,
    sys::{Listener, Ready},
};

pub(crate) use acceptor::Acceptor;
pub(crate) use shared::{Binding, Shared};

/// How long it may take to cut what a shutdown has left.
const CUTTING: Duration = Duration::from_secs(1);

/// A server with its endpoints. Dropping it closes all connections at once.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    acceptors: Vec<Arc<Acceptor>>,
}

/// What a server holds at a moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// Open connections, silent and idle ones included.
    pub connections: usize,
    /// Calls that run.
    pub running_calls: usize,
    /// Threads of the pool.
    pub threads: usize,
}

/// What a shutdown left behind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DrainReport {
    /// How long the shutdown took.
    pub elapsed: Duration,
    /// Connections that were cut because they had not ended in time.
    pub severed_connections: usize,
    /// Calls that still run; their threads end with them.
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

/// One endpoint that could not be created.
#[derive(Debug, Error)]
#[error("{endpoint}: {source}")]
pub struct EndpointFailure {
    /// Which one.
    pub endpoint: Endpoint,
    /// What the system said.
    pub source: io::Error,
}

impl Server {
    /// Creates all endpoints, and serves them only when all could be created.
    ///
    /// # Errors
    /// When an endpoint cannot be created: it is served already, its security descriptor is
    /// malformed, or the system refuses. All failures are named, and what had been created is
    /// closed again.
    pub fn bind(
        services: Vec<(Endpoint, Arc<dyn Service>)>,
        options: ServerOptions,
    ) -> Result<Self, BindError> {
        let bound = listen(services, &options)?;
        let shared = Shared::new(options).map_err(BindError::Threads)?;
        let mut server = Self {
            shared: Arc::new(shared),
            acceptors: Vec::new(),
        };
        for (binding, listener) in bound {
            let acceptor =
                Acceptor::open(binding, listener, &server.shared).map_err(BindError::Threads)?;
            server.acceptors.push(acceptor);
        }
        for acceptor in &server.acceptors {
            Arc::clone(acceptor).ready();
        }
        Ok(server)
    }

    /// What the server holds at the moment.
    pub fn usage(&self) -> Usage {
        Usage {
            connections: self.shared.connections.len(),
            running_calls: self.shared.calls.running(),
            threads: self.shared.pool.threads(),
        }
    }

    /// Accepts no more, asks the clients to go and waits for the calls that run, but not longer
    /// than `drain`; then it cuts what is left.
    ///
    /// A call that still runs then keeps its thread until its end, since it holds what it has
    /// locked; it is counted in the report.
    pub fn shutdown(mut self, drain: Duration) -> DrainReport {
        self.stop(drain)
    }

    fn stop(&mut self, drain: Duration) -> DrainReport {
        let start = Instant::now();
        // A client that is just being taken either sees this or is among those below.
        self.shared.draining.store(true, Ordering::Release);
        for acceptor in self.acceptors.drain(..) {
            acceptor.close();
        }
        let connections = &self.shared.connections;
        connections.all().iter().for_each(Connection::want_turn);
        let severed_connections = connections.wait_empty(start + drain);
        connections.all().iter().for_each(Connection::sever);
        self.shared
            .pool
            .close(Instant::now() + CUTTING, || self.shared.calls.running());
        let abandoned_calls = self.shared.calls.running();
        DrainReport {
            elapsed: start.elapsed(),
            severed_connections,
            abandoned_calls,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.acceptors.is_empty() {
            self.stop(Duration::ZERO);
        }
    }
}

/// All listeners, or none.
fn listen(
    services: Vec<(Endpoint, Arc<dyn Service>)>,
    options: &ServerOptions,
) -> Result<Vec<(Arc<Binding>, Listener)>, BindError> {
    let mut bound = Vec::new();
    let mut failures = Vec::new();
    for (endpoint, service) in services {
        match Listener::bind(&endpoint, options) {
            Ok(listeners) => {
                let binding = Arc::new(Binding { endpoint, service });
                bound.extend(
                    listeners
                        .into_iter()
                        .map(|listener| (Arc::clone(&binding), listener)),
                );
            }
            Err(source) => failures.push(EndpointFailure { endpoint, source }),
        }
    }
    match failures.is_empty() {
        true => Ok(bound),
        false => Err(BindError::Endpoints(failures)),
    }
}

fn list(failures: &[EndpointFailure]) -> String {
    failures
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}
