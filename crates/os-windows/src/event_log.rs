use os::{Event, EventLog, Win32};

use crate::failure;
use crate::raw::event_log::Source;
use crate::raw::registry;
use crate::wide::Wide;

/// The Application log, under the name of one source.
///
/// The source has Windows's own file of texts that show an event's text as it is. Otherwise the event viewer shows it
/// below a note about a missing description.
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
        if let Err(code) = self.register() {
            tracing::debug!(
                source = self.source,
                ?code,
                "events stay without a description"
            );
        }
        let source = Source::open(&Wide::new(&self.source)?)?;
        source.report(
            event.level,
            event.id,
            &Wide::new(shortened(&event.message))?,
        )
    }

    /// Gives the source a file of texts, unless it has one.
    fn register(&self) -> Result<(), Win32> {
        let key = format!("{SOURCES}\\{}", self.source);
        match registry::text(&key, MESSAGE_FILE) {
            Err(Win32::FILE_NOT_FOUND) => registry::set_expandable(&key, MESSAGE_FILE, TEXTS),
            known => known.map(drop),
        }
    }
}

impl EventLog for NativeEventLog {
    fn report(&self, event: &Event) -> os::Result<()> {
        self.write(event)
            .map_err(|code| failure::error("ReportEventW", &self.source, code))
    }
}

/// The sources of the Application log, and a source's file of texts
/// (<https://learn.microsoft.com/windows/win32/eventlog/event-sources>, [MS-EVEN] 3.2.4.1.4).
const SOURCES: &str = r"SYSTEM\CurrentControlSet\Services\EventLog\Application";
const MESSAGE_FILE: &str = "EventMessageFile";

/// Has `%1` for each id from 1 to 1000, as the program writes events of these
/// (<https://learn.microsoft.com/windows-server/administration/windows-commands/eventcreate>).
const TEXTS: &str = r"%SystemRoot%\System32\EventCreate.exe";

/// The longest text of an event: 31,839 characters, by the documentation of `ReportEventW`.
const LONGEST: usize = 31_839;

/// In bytes: a character has one or more.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use os::{Event, EventLevel, EventLog};

    use super::{LONGEST, MESSAGE_FILE, NativeEventLog, SOURCES, shortened};
    use crate::raw::registry;

    #[test]
    fn a_source_has_a_file_of_texts() {
        let source = format!("wincsi-test-{}", std::process::id());
        let event = Event {
            level: EventLevel::Information,
            id: 1,
            message: String::from("a test"),
        };
        NativeEventLog::of(&source).report(&event).unwrap();
        let key = format!("{SOURCES}\\{source}");
        let file = registry::text(&key, MESSAGE_FILE).unwrap();
        let file = file.to_string_lossy().to_lowercase();
        assert!(file.ends_with(r"\system32\eventcreate.exe"), "{file}");
        assert!(!file.contains('%'), "Windows expands it: {file}");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = "\u{e4}".repeat(LONGEST);
        let cut = shortened(&long);
        assert!(cut.len() <= LONGEST && cut.len() > LONGEST - 4);
    }
}
