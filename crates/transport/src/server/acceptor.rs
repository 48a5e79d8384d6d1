//! Taking clients.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{Binding, Shared};
use crate::{
    conn::Connection,
    pool::Task,
    sys::{self, Interest, Listener, Ready, Stream, Watch},
};

/// How long a listener that could not accept waits before it tries again.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A listener of one endpoint, with the watch that tells when a client is there.
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
        *acceptor.lock() = Some((listener, watch));
        Ok(acceptor)
    }

    pub(super) fn close(&self) {
        // Dropped without the lock: a callback of the watch may be waiting for it.
        let inner = self.lock().take();
        drop(inner);
    }

    /// Takes the next client, and has the watch tell of the one after. The connection is the
    /// caller's to serve.
    pub(crate) fn accept(&self) -> Option<Arc<Connection>> {
        let stream = self.next_stream()?;
        match self
            .shared
            .connections
            .open(stream, &self.binding, &self.shared)
        {
            Ok(connection) => Some(connection),
            Err(error) => {
                tracing::warn!(endpoint = %self.binding.endpoint, %error, "a client is turned away");
                None
            }
        }
    }

    fn next_stream(&self) -> Option<Stream> {
        let mut inner = self.lock();
        let (listener, watch) = inner.as_mut()?;
        let (stream, armed) = match listener.accept() {
            Ok(stream) => (
                stream,
                watch.arm(&listener.handles(), listener.interest(), None),
            ),
            Err(error) => {
                tracing::warn!(endpoint = %self.binding.endpoint, %error, "cannot accept a client");
                let nothing = Interest::default();
                (
                    None,
                    watch.arm(&listener.handles(), nothing, Some(ACCEPT_RETRY)),
                )
            }
        };
        if let Err(error) = armed {
            tracing::error!(endpoint = %self.binding.endpoint, %error, "cannot watch for clients");
        }
        stream
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
