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
    address: Mutex<Option<SocketAddr>>,
    /// Over when the server is to end.
    retry: Retry,
}

impl Listening {
    /// Where it listens; nothing while it has not got its address.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        *self.lock()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.retry.is_over()
    }

    /// Has the thread end, and answers where it may be waiting for a client.
    pub(super) fn close(&self) -> Option<SocketAddr> {
        // Before the address is read: a thread that gets one later looks whether it is to end.
        self.retry.end();
        self.address()
    }

    /// Tries to listen once.
    pub(super) fn bind(&self, wanted: &BindAddress) -> io::Result<TcpListener> {
        let listener = TcpListener::bind(&*wanted.resolve()?)?;
        *self.lock() = Some(listener.local_addr()?);
        Ok(listener)
    }

    /// Tries until it listens, less and less often; `None` when it is to end before.
    pub(super) fn bind_later(&self, wanted: &BindAddress) -> Option<TcpListener> {
        self.retry
            .until(LONGEST_PAUSE, |pause| match self.bind(wanted) {
                Ok(listener) => Some(listener),
                Err(error) => {
                    tracing::warn!(
                        "http on {wanted}: {error}; it is tried again after {} s",
                        pause.as_secs()
                    );
                    None
                }
            })
    }

    fn lock(&self) -> MutexGuard<'_, Option<SocketAddr>> {
        self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
