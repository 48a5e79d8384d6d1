//! A log that counts its lines, and panics on request.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The log of the whole process.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    /// A line with this text panics, once.
    explosive: Option<&'static str>,
}

impl Log {
    /// Becomes the log of this process; once in a process.
    pub fn install() -> Self {
        let log = Self::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    }

    /// The next line with this text panics.
    pub fn explode_at(&self, text: &'static str) {
        self.0.lock().unwrap().explosive = Some(text);
    }

    pub fn has_exploded(&self) -> bool {
        self.0.lock().unwrap().explosive.is_none()
    }

    /// How many lines have this text.
    pub fn count(&self, text: &str) -> usize {
        self.lines(text).len()
    }

    /// The lines with this text.
    pub fn lines(&self, text: &str) -> Vec<String> {
        let state = self.0.lock().unwrap();
        let lines = state.lines.iter().filter(|line| line.contains(text));
        lines.cloned().collect()
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target().starts_with("h2") {
            return;
        }
        let mut line = Line(String::new());
        event.record(&mut line);
        let mut state = self.0.lock().unwrap();
        let explodes = state.explosive.is_some_and(|text| line.0.contains(text));
        if explodes {
            state.explosive = None;
        }
        state.lines.push(line.0);
        drop(state);
        assert!(!explodes, "the log panics as told");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}
