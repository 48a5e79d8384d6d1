//! The warnings of an operation in the log.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Counts the warnings and errors that `act` logs on this thread.
pub(crate) fn of(act: impl FnOnce()) -> usize {
    captured(act).lines().count()
}

/// The warnings and errors that `act` logs on this thread, a line each.
pub(crate) fn captured(act: impl FnOnce()) -> String {
    listen();
    LINES.set(Some(String::new()));
    act();
    LINES.take().unwrap_or_default()
}

thread_local! {
    /// The log lines of this thread since a test began to collect them.
    static LINES: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// For the whole process: `tracing` asks only the thread that reaches an event first whether anybody listens, and
/// keeps that answer for all threads (tracing-core 0.1.36, `Rebuilder::JustOne`).
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
    tracing::callsite::rebuild_interest_cache();
}

struct Listener;

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
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                event.record(&mut Line(lines));
                lines.push('\n');
            }
        });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
