//! How many warnings an operation logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Counts the warnings and errors that `act` logs on this thread.
pub(crate) fn of(act: impl FnOnce()) -> usize {
    let counted = Arc::new(AtomicUsize::new(0));
    tracing::subscriber::with_default(Counter(Arc::clone(&counted)), act);
    counted.load(Ordering::Relaxed)
}

struct Counter(Arc<AtomicUsize>);

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
