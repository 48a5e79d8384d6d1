//! The figures of `/metrics`, in Prometheus's text format.
//!
//! csi-proxy's metrics keep their names, labels and buckets. A series exists from its first use on,
//! as upstream. Everything is counted in atomics, looked up once per method or operation; only
//! rendering allocates.

mod calls;
mod exposition;
mod figures;
mod histogram;
mod operations;
#[cfg_attr(windows, path = "process/windows.rs")]
#[cfg_attr(not(windows), path = "process/elsewhere.rs")]
mod process;

use std::sync::atomic::{AtomicU64, Ordering};

use transport::Usage;

pub use self::calls::{CallSeries, Calls};
pub use self::exposition::{Exposition, Kind};
pub use self::operations::OperationSeries;

/// The content type of a page of figures.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The system's figures of this process.
pub fn render_process(page: &mut Exposition) {
    process::sample().render(page);
}

/// A growing number.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A server's load at a moment.
pub fn render_usage(page: &mut Exposition, usage: Usage) {
    for (name, help, value) in [
        (
            "wincsi_connections",
            "Open connections on all pipes.",
            usage.connections,
        ),
        (
            "wincsi_running_calls",
            "Calls that run.",
            usage.running_calls,
        ),
        (
            "wincsi_waiting_calls",
            "Calls that wait for another, which has what they need.",
            usage.waiting_calls,
        ),
        (
            "wincsi_held_bytes",
            "What the clients make the server hold; -max-held-memory bounds it.",
            usage.held_bytes,
        ),
        (
            "wincsi_pool_threads",
            "Threads that drive connections and calls.",
            usage.threads,
        ),
    ] {
        page.gauge(name, help, value);
    }
    for (name, help, value) in [
        (
            "wincsi_refused_calls_total",
            "Calls that were refused because too many ran.",
            usage.refused_calls,
        ),
        (
            "wincsi_turned_away_connections_total",
            "Clients that were closed at once because too many were connected.",
            usage.turned_away,
        ),
        (
            "wincsi_failed_accepts_total",
            "Tries to take a client that the system refused.",
            usage.failed_accepts,
        ),
    ] {
        page.counter(name, help, value);
    }
}
