use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::life::Volumes;

/// Whether the records were compared with the node since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Reconciled(Arc<AtomicBool>);

impl Reconciled {
    /// Compares them on a thread of its own, beside calls: nobody waits for a server that hangs.
    pub(super) fn in_background(volumes: &Arc<Volumes>) -> Self {
        let reconciled = Self::default();
        let (volumes, done) = (Arc::clone(volumes), reconciled.clone());
        let compare = move || {
            let began = Instant::now();
            volumes.reconcile();
            tracing::info!("records compared in {:?}", began.elapsed());
            done.0.store(true, Ordering::Release);
        };
        let thread = thread::Builder::new().name(String::from("reconcile"));
        if let Err(error) = thread.spawn(compare) {
            tracing::error!("the records are not compared with the node: no thread: {error}");
        }
        reconciled
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
