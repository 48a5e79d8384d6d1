use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::BindAddress;
use crate::retry::Retry;

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where a server listens, and whether it is to end; shared by its thread and its owner.
#[derive(Default)]
pub(super) struct Listening {
    addresses: Mutex<Vec<SocketAddr>>,
    /// Over when the server is to end.
    retry: Retry,
}

impl Listening {
    /// Where it listens; nothing while it has not got its address.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.lock().clone()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.retry.is_over()
    }

    /// Has the threads end, and answers where they may be waiting for a client.
    pub(super) fn close(&self) -> Vec<SocketAddr> {
        // Before the addresses are read: a thread that gets one later checks for the end.
        self.retry.end();
        self.addresses()
    }

    /// Tries to listen once.
    pub(super) fn bind(&self, wanted: &BindAddress) -> io::Result<Vec<TcpListener>> {
        let listeners = wanted.bind()?;
        let addresses = listeners.iter().map(TcpListener::local_addr);
        *self.lock() = addresses.collect::<io::Result<_>>()?;
        Ok(listeners)
    }

    /// Tries until it listens, less and less often; `None` when it is to end before.
    pub(super) fn bind_later(&self, wanted: &BindAddress) -> Option<Vec<TcpListener>> {
        self.retry
            .until(LONGEST_PAUSE, |pause| match self.bind(wanted) {
                Ok(listeners) => Some(listeners),
                Err(error) => {
                    tracing::warn!(
                        "http on {wanted}: {error}; it is tried again after {} s",
                        pause.as_secs()
                    );
                    None
                }
            })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
