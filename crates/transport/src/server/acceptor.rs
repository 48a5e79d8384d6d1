//! Accepts clients.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Binding, Shared};
use crate::conn::Connection;
use crate::panics::contain;
use crate::pool::Task;
use crate::sys::{self, Interest, Listener, Ready, Stream, Watch};

/// The pause of a listener after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A listener of one endpoint, and its watch for clients.
#[derive(Debug)]
pub(crate) struct Acceptor {
    binding: Arc<Binding>,
    shared: Arc<Shared>,
    inner: Mutex<Option<(Listener, Watch)>>,
}

impl Acceptor {
    pub(super) fn open(
        binding: Arc<Binding>,
        listener: Listener,
        shared: &Arc<Shared>,
    ) -> io::Result<Arc<Self>> {
        let shared = Arc::clone(shared);
        let acceptor = Arc::new(Self {
            binding,
            shared,
            inner: Mutex::new(None),
        });
        let watch = acceptor
            .shared
            .watcher
            .watch(Arc::clone(&acceptor) as sys::Target)?;
        // Armed for nothing yet, so the system's resources for arming exist from now on.
        watch.arm(&listener.handles(), Interest::default(), None)?;
        *acceptor.lock() = Some((listener, watch));
        Ok(acceptor)
    }

    /// Begins to take clients, without a thread until one comes.
    pub(super) fn start(&self) -> io::Result<()> {
        match &*self.lock() {
            Some((listener, watch)) => watch.arm(&listener.handles(), listener.interest(), None),
            None => Ok(()),
        }
    }

    pub(super) fn close(&self) {
        // Dropped without the lock: a callback of the watch may be waiting for it.
        let inner = self.lock().take();
        drop(inner);
    }

    /// Takes the next client, and arms the watch for the one after. The caller serves the
    /// connection.
    pub(crate) fn accept(&self) -> Option<Arc<Connection>> {
        let stream = contain("taking a client", || self.next_stream()).unwrap_or_else(|| {
            self.try_later();
            None
        })?;
        contain("opening a connection", || self.open_connection(stream)).flatten()
    }

    fn open_connection(&self, stream: Stream) -> Option<Arc<Connection>> {
        let peer = stream.identity().peer();
        let opened = self
            .shared
            .connections
            .open(stream, &self.binding, &self.shared);
        opened
            .inspect_err(|error| {
                if let Some(held_back) = self.binding.turning_away.pass() {
                    tracing::warn!(endpoint = %self.binding.endpoint, %peer, %error, held_back, "a client is turned away");
                }
            })
            .ok()
    }

    fn next_stream(&self) -> Option<Stream> {
        let mut inner = self.lock();
        let (listener, watch) = inner.as_mut()?;
        let (stream, failed) = match listener.accept() {
            Ok(stream) => {
                let armed = watch.arm(&listener.handles(), listener.interest(), None);
                (stream, armed.err())
            }
            Err(error) => (None, Some(error)),
        };
        drop(inner);
        if let Some(error) = failed {
            // Before anything else: nothing but the watch ever comes back here.
            self.try_later();
            self.shared.failed_accepts.fetch_add(1, Ordering::Relaxed);
            if let Some(held_back) = self.binding.failing.pass() {
                tracing::warn!(endpoint = %self.binding.endpoint, %error, held_back, "cannot accept a client");
            }
        }
        stream
    }

    /// Has the watch fire after a while, with or without a client.
    fn try_later(&self) {
        let inner = self.lock();
        let Some((listener, watch)) = &*inner else {
            return;
        };
        // The time is kept also when the rest of it fails.
        let armed = watch.arm(&listener.handles(), Interest::default(), Some(ACCEPT_RETRY));
        if let Err(error) = armed {
            tracing::error!(endpoint = %self.binding.endpoint, %error, "cannot watch for clients");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Listener, Watch)>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready for Acceptor {
    fn ready(self: Arc<Self>) {
        let pool = Arc::clone(&self.shared.pool);
        pool.push(Task::Accept(self));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::sys::{Accepts, Handles};
    use crate::{Call, Channel, ChannelOptions, Endpoint, Server, ServerOptions, Service, Status};

    const TIMEOUT: Duration = Duration::from_secs(30);

    struct Echo;

    impl Service for Echo {
        fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
            Ok(call.message.to_vec())
        }
    }

    fn echo(endpoint: &Endpoint) -> Vec<u8> {
        let channel = Channel::connect(endpoint.clone(), ChannelOptions::default()).unwrap();
        let deadline = Instant::now() + TIMEOUT;
        channel.call("/v1.Test/Echo", b"fine", deadline).unwrap()
    }

    /// A listener whose accepts fail while the flag is set.
    #[derive(Debug)]
    struct Refusing(Listener, Arc<AtomicBool>);

    impl Accepts for Refusing {
        fn handles(&self) -> Handles {
            self.0.handles()
        }

        fn interest(&self) -> Interest {
            self.0.interest()
        }

        fn accept(&mut self) -> io::Result<Option<Stream>> {
            match self.1.load(Ordering::Relaxed) {
                true => Err(io::Error::other("as told")),
                false => self.0.accept(),
            }
        }
    }

    /// Puts a refusing listener before each listener of one endpoint.
    fn inject(server: &Server, endpoint: &Endpoint) -> Arc<AtomicBool> {
        let refuses = Arc::new(AtomicBool::new(true));
        for acceptor in &*server.acceptors() {
            let mut inner = acceptor.lock();
            if acceptor.binding.endpoint == *endpoint
                && let Some((listener, watch)) = inner.take()
            {
                let refusing = Refusing(listener, Arc::clone(&refuses));
                *inner = Some((Box::new(refusing), watch));
            }
        }
        refuses
    }

    /// Guards: P25
    #[test]
    fn an_endpoint_that_cannot_accept_stops_no_other_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = |name: &str| {
            let name = format!("transport-test-{}-{name}", std::process::id());
            Endpoint::local(folder.path(), &name).unwrap()
        };
        let (failing, other) = (endpoint("failing"), endpoint("other"));
        let services = [&failing, &other].map(|endpoint| {
            let service: Arc<dyn Service> = Arc::new(Echo);
            (endpoint.clone(), service)
        });
        let server = Server::bind(services.into(), ServerOptions::default()).unwrap();
        let refuses = inject(&server, &failing);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| echo(&failing));
            let end = Instant::now() + TIMEOUT;
            while server.usage().failed_accepts < 3 {
                assert!(Instant::now() < end, "it is not tried again");
                // Each is a separate client, and has to be accepted.
                assert_eq!(echo(&other), b"fine");
            }
            assert!(!waiting.is_finished(), "nobody accepted it");
            refuses.store(false, Ordering::Relaxed);
            assert_eq!(waiting.join().unwrap(), b"fine");
        });
        assert_eq!(echo(&failing), b"fine");
    }
}
