use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::BindAddress;

/// The pause after the first try in vain; each is twice the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where a server listens, and whether it is to end; shared by its thread and its owner.
#[derive(Default)]
pub(super) struct Listening {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    address: Option<SocketAddr>,
    is_closing: bool,
}

impl Listening {
    /// Where it listens; nothing while it has not got its address.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.lock().address
    }

    pub(super) fn is_closing(&self) -> bool {
        self.lock().is_closing
    }

    /// Has the thread end, and answers where it may be waiting for a client.
    pub(super) fn close(&self) -> Option<SocketAddr> {
        let mut state = self.lock();
        state.is_closing = true;
        self.changed.notify_all();
        state.address
    }

    /// Tries to listen once.
    pub(super) fn bind(&self, wanted: &BindAddress) -> io::Result<TcpListener> {
        let listener = TcpListener::bind(&*wanted.resolve()?)?;
        self.lock().address = Some(listener.local_addr()?);
        Ok(listener)
    }

    /// Tries until it listens, less and less often; `None` when it is to end before.
    pub(super) fn bind_later(&self, wanted: &BindAddress) -> Option<TcpListener> {
        let mut pause = FIRST_PAUSE;
        while self.rest(pause) {
            pause = LONGEST_PAUSE.min(2 * pause);
            match self.bind(wanted) {
                Ok(listener) => return Some(listener),
                Err(error) => {
                    tracing::warn!(
                        "http on {wanted}: {error}; it is tried again after {} s",
                        pause.as_secs()
                    );
                }
            }
        }
        None
    }

    /// Waits; false when it is to end.
    fn rest(&self, pause: Duration) -> bool {
        let state = self.lock();
        let goes_on = |state: &mut State| !state.is_closing;
        let waited = self.changed.wait_timeout_while(state, pause, goes_on);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_closing
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
