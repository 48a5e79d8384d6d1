use os::{Event, EventLog, Win32};

use crate::failure;
use crate::raw::event_log::Source;
use crate::wide::Wide;

/// The Application log, under the name of one source.
///
/// The source is not registered with texts of its own, so the event viewer shows our text below a
/// note about a missing description.
#[derive(Debug, Clone)]
pub struct NativeEventLog {
    source: String,
}

impl NativeEventLog {
    /// Events of this source.
    #[must_use]
    pub fn of(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
        }
    }

    fn write(&self, event: &Event) -> Result<(), Win32> {
        let source = Source::open(&Wide::new(&self.source)?)?;
        source.report(
            event.level,
            event.id,
            &Wide::new(shortened(&event.message))?,
        )
    }
}

impl EventLog for NativeEventLog {
    fn report(&self, event: &Event) -> os::Result<()> {
        self.write(event)
            .map_err(|code| failure::error("ReportEventW", &self.source, code))
    }
}

/// The longest text of an event: 31,839 characters, by the documentation of `ReportEventW`.
const LONGEST: usize = 31_839;

/// In bytes: a character has one or more.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, shortened};

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = "\u{e4}".repeat(LONGEST);
        let cut = shortened(&long);
        assert!(cut.len() <= LONGEST && cut.len() > LONGEST - 4);
    }
}
