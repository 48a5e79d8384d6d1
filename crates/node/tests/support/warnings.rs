//! What an operation warns of in the log.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Counts the warnings and errors that `act` logs on this thread.
pub(crate) fn of(act: impl FnOnce()) -> usize {
    told(act).lines().count()
}

/// The warnings and errors that `act` logs on this thread, a line each.
pub(crate) fn told(act: impl FnOnce()) -> String {
    let lines = Arc::<Mutex<String>>::default();
    tracing::subscriber::with_default(Listener(Arc::clone(&lines)), act);
    lines.lock().unwrap().clone()
}

struct Listener(Arc<Mutex<String>>);

/// The fields of one event.
struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut lines = self.0.lock().unwrap();
        event.record(&mut Line(&mut lines));
        lines.push('\n');
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
