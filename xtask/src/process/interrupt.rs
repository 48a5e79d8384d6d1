//! Ctrl-C and a termination signal: the current wait fails, and everything started is ended and
//! removed on the way out.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

thread_local! {
    /// Whether this thread is clearing up and waits in spite of a signal.
    static LEAVING: Cell<bool> = const { Cell::new(false) };
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Replaces the signals' default: it would end this process on the spot.
pub(crate) fn watch() -> Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed)).context("watch for Ctrl-C")
}

/// Whether a signal came.
pub(crate) fn happened() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Does work required on the way out too.
pub(crate) fn regardless<T>(work: impl FnOnce() -> T) -> T {
    let before = LEAVING.replace(true);
    let done = work();
    LEAVING.set(before);
    done
}

/// Fails once a signal came.
pub(super) fn check() -> Result<()> {
    if happened() && !LEAVING.get() {
        bail!("interrupted");
    }
    Ok(())
}
