use os::{Event, EventLevel, EventLog as _};
use os_windows::NativeEventLog;

/// The event's number within its source.
const ABNORMAL: u32 = 2;

pub(super) fn report(source: &str, message: &str) {
    let event = Event {
        level: EventLevel::Warning,
        id: ABNORMAL,
        message: message.to_owned(),
    };
    if let Err(error) = NativeEventLog::of(source).report(&event) {
        tracing::debug!("the event log takes nothing: {error}");
    }
}
