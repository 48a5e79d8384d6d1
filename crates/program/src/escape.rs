//! Texts of clients and times, as the log and the audit log write them.

use std::borrow::Cow;

use time::OffsetDateTime;

/// The longest text of a line, in bytes.
const LONGEST: usize = 8 << 10;

/// The text has clients' values: it may neither begin a line of its own, nor mislead the reader
/// with characters that move others about, nor go on for ever.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(LONGEST));
    for character in text.chars() {
        if line.len() >= LONGEST {
            line.push_str("...");
            break;
        }
        match character.is_control() || is_format(character) {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}

/// No more of a text than so many bytes, with dots in place of the rest.
pub fn bounded(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest));
        text.push_str("...");
    }
    text
}

/// No more of a text than so many bytes, and how many were left out.
pub fn counted(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    let (kept, left) = text.split_at(text.floor_char_boundary(longest));
    Cow::Owned(format!("{kept}... ({} bytes more)", left.len()))
}

/// Line separators, and characters that hide text or change its direction.
fn is_format(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

/// `2026-01-31T23:59:59.123456Z`.
pub fn rfc3339(time: OffsetDateTime) -> String {
    let (date, (hour, minute, second)) = (time.date(), time.to_hms());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let micros = time.microsecond();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::{bounded, counted, one_line, rfc3339};

    /// Guards: P19
    #[test]
    fn a_client_cannot_begin_a_line_of_the_log() {
        let forged = "volume a\nI0101 00:00:00.000000 1 x.rs:1] all is well\r\u{1b}[0m";
        let line = one_line(forged);
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.starts_with(r"volume a\nI0101"), "{line}");
        let long = one_line(&"x".repeat(1 << 20));
        assert!(long.len() < 9000 && long.ends_with("..."));
    }

    #[test]
    fn a_client_cannot_turn_the_readers_eye() {
        assert_eq!(one_line("a\u{202e}b\u{2028}c"), r"a\u{202e}b\u{2028}c");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = String::from("\u{e4}\u{e4}\u{e4}");
        assert_eq!(bounded(text.clone(), 6), text);
        assert_eq!(bounded(text, 5), "\u{e4}\u{e4}...");
    }

    /// Guards: P19
    #[test]
    fn what_is_left_out_of_a_long_text_is_counted() {
        let text = "\u{e4}\u{e4}\u{e4}";
        assert_eq!(counted(text, 6), text);
        assert_eq!(counted(text, 5), "\u{e4}\u{e4}... (2 bytes more)");
    }

    #[test]
    fn times_are_universal() {
        let then = OffsetDateTime::UNIX_EPOCH + time::Duration::microseconds(1_234_567);
        assert_eq!(rfc3339(then), "1970-01-01T00:00:01.234567Z");
    }
}
