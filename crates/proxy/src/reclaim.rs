//! Endpoints served by another process, tried until they are free.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use program::retry::Retry;
use transport::Endpoint;

use crate::monitoring::SharedServer;

/// For up to this long after the other process ended, calls fail or reach a third one; and taken endpoints are logged
/// at most this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

const STACK_BYTES: usize = 256 << 10;

/// Tries the taken endpoints of a server, until this is dropped.
pub(crate) struct Reclaiming(Arc<Retry>);

impl Reclaiming {
    /// Begins, if there are any. Logs them now, and after each try that leaves some.
    pub(crate) fn start(server: &SharedServer) -> Option<Self> {
        let taken = server.get()?.taken();
        if taken.is_empty() {
            return None;
        }
        tracing::error!(
            "served by another process: {}; the others are served here, and these are tried again",
            list(&taken)
        );
        let retry = Arc::new(Retry::default());
        let (server, tries) = (server.clone(), Arc::clone(&retry));
        let spawned = thread::Builder::new()
            .name(String::from("endpoints"))
            .stack_size(STACK_BYTES)
            .spawn(move || tries.until(LONGEST_PAUSE, |pause| attempt(&server, pause)));
        if let Err(error) = spawned {
            tracing::error!("endpoints of another process are not tried again: no thread: {error}");
        }
        Some(Self(retry))
    }
}

impl Drop for Reclaiming {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Done when all are served, or the server has gone.
fn attempt(server: &SharedServer, pause: Duration) -> Option<()> {
    let Some(server) = server.get() else {
        return Some(());
    };
    let (free, taken) = (server.retry_taken(), server.taken());
    if !free.is_empty() {
        tracing::info!("free again and served: {}", list(&free));
    }
    if taken.is_empty() {
        return Some(());
    }
    tracing::warn!(
        "served by another process: {}; tried again after {} s",
        list(&taken),
        pause.as_secs()
    );
    None
}

fn list(endpoints: &[Endpoint]) -> String {
    let names: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
    names.join(", ")
}
