use std::error::Error;

/// The system's text for a failure, in the language of the node: data for people.
///
/// It is one line of bounded length without control characters, so that it can be logged and shown
/// unchanged. No error of ours prints it, since clients match on texts: it is the innermost
/// [`source`](Error::source) of its error, where [`SystemText::of`] finds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.line)]
pub struct SystemText(Box<Kept>);

/// Behind a thin pointer, so that errors that have paths and this are cheap to return.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    line: String,
}

impl SystemText {
    /// The longest text that is kept, in bytes. Microsoft's longest messages have a few hundred letters.
    pub const LONGEST: usize = 1024;

    /// The text on one line, cut at [`SystemText::LONGEST`] bytes; `None` when nothing of it can be read.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut line = String::new();
        for word in text.split(is_no_letter).filter(|word| !word.is_empty()) {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            if line.len() > Self::LONGEST {
                line.truncate(line.floor_char_boundary(Self::LONGEST));
                break;
            }
        }
        (!line.is_empty()).then(|| Self(Box::new(Kept { line })))
    }

    /// The text behind an error of this workspace, if there is one.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut causes = std::iter::successors(Some(error), |&error| error.source());
        causes.find_map(|cause| cause.downcast_ref())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.line
    }
}

/// Spaces, characters that are no text, and those that hide text or change its direction.
fn is_no_letter(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use proptest::prelude::any;
    use proptest::{prop_assert, proptest};

    use super::SystemText;
    use crate::{Error, Win32};

    #[test]
    fn a_text_is_one_line() {
        let text = SystemText::new("Zugriff\r\nverweigert.\t\u{202e}\0 \r\n").expect("a text");
        assert_eq!(text.as_str(), "Zugriff verweigert.");
        assert_eq!(SystemText::new(" \r\n\0"), None);
    }

    #[test]
    fn an_error_has_its_text_and_does_not_print_it() {
        let plain = Error::new("CreateFileW", r"C:\x", Win32::ACCESS_DENIED);
        let system_text = SystemText::new("Zugriff verweigert");
        let error = plain.clone().with_system_text(system_text.clone());
        assert_eq!(error.to_string(), plain.to_string());
        assert_eq!(SystemText::of(&error), system_text.as_ref());
        assert!(plain.source().is_none());
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_bounded_line(text in any::<String>(), times in 1_usize..400) {
            if let Some(text) = SystemText::new(&text.repeat(times)) {
                prop_assert!(text.as_str().len() <= SystemText::LONGEST);
                prop_assert!(!text.as_str().contains(char::is_control));
                prop_assert!(SystemText::new(text.as_str()).is_some());
            }
        }
    }
}
