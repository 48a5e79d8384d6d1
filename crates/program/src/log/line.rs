use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use time::OffsetDateTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata};

use super::{Options, Severity};
use crate::{escape, hidden};

/// The form of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A JSON object.
    Json,
    /// klog's form.
    Text,
}

/// Makes lines of events.
pub(super) struct Lines {
    format: Format,
    add_folder: bool,
    skip_header: bool,
    process: u32,
}

impl Lines {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            format: options.format,
            add_folder: options.add_dir_header,
            skip_header: options.skip_headers,
            process: std::process::id(),
        }
    }

    /// One line with its end. The texts have clients' values, so none can end the line early. If
    /// lines of the same place were left out before it, it has their number.
    pub(super) fn render(&self, event: &Event<'_>, held_back: u64) -> String {
        let now = OffsetDateTime::now_utc();
        let mut record = Record::default();
        event.record(&mut record);
        if held_back > 0 {
            let field = ("held_back", held_back.to_string());
            record.fields.push(field);
        }
        let mut line = match self.format {
            Format::Json => self.json(now, event.metadata(), record),
            Format::Text => self.text(now, event.metadata(), &record),
        };
        line.push('\n');
        line
    }

    fn text(&self, now: OffsetDateTime, metadata: &Metadata<'_>, record: &Record) -> String {
        let mut line = String::new();
        if !self.skip_header {
            header(&mut line, Severity::of(metadata), now, self.process);
            // Writing to a String cannot fail.
            let _ = write!(line, " {}] ", self.caller(metadata));
        }
        let mut body = record.message.clone();
        for (name, value) in &record.fields {
            let _ = write!(body, " {name}={value}");
        }
        line.push_str(&escape::one_line(body.trim_start()));
        line
    }

    fn json(&self, now: OffsetDateTime, metadata: &Metadata<'_>, record: Record) -> String {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("time", escape::rfc3339(now).into());
        put("severity", Severity::of(metadata).name().into());
        put("pid", self.process.into());
        put("caller", self.caller(metadata).into());
        put("message", escape::one_line(&record.message).into());
        let field = |(name, value): (&'static str, String)| {
            (name.to_owned(), Value::from(escape::one_line(&value)))
        };
        let fields: Map<String, Value> = record.fields.into_iter().map(field).collect();
        if !fields.is_empty() {
            put("fields", fields.into());
        }
        Value::from(object).to_string()
    }

    fn caller(&self, metadata: &Metadata<'_>) -> String {
        let mut parts = metadata.file().unwrap_or("?").rsplit(['/', '\\']);
        let file = parts.next().unwrap_or("?");
        let line = metadata.line().unwrap_or(0);
        match parts.next().filter(|_| self.add_folder) {
            Some(folder) => format!("{folder}/{file}:{line}"),
            None => format!("{file}:{line}"),
        }
    }
}

/// klog's header up to the process id (klog calls it the thread's).
fn header(line: &mut String, severity: Severity, now: OffsetDateTime, process: u32) {
    let letter = match severity {
        Severity::Info => 'I',
        Severity::Warning => 'W',
        Severity::Error => 'E',
        Severity::Fatal => 'F',
    };
    let (month, day) = (u8::from(now.month()), now.day());
    let (hour, minute, second) = now.to_hms();
    let micros = now.microsecond();
    // Writing to a String cannot fail.
    let _ = write!(
        line,
        "{letter}{month:02}{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06} {process:>7}"
    );
}

/// An event's content. Values come as their debug or display text: types without either, such as
/// secrets, cannot get here.
#[derive(Default)]
struct Record {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Visit for Record {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = hidden::shown(value),
            name => self.fields.push((name, hidden::shown(value))),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::{Severity, header};

    #[test]
    fn the_header_is_klogs() {
        let mut text = String::new();
        let then = OffsetDateTime::UNIX_EPOCH + time::Duration::microseconds(1_234_567);
        header(&mut text, Severity::Warning, then, 42);
        assert_eq!(text, "W0101 00:00:01.234567      42");
    }
}
