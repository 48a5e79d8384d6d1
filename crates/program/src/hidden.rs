//! Names that no text shows: people write passwords before an `@`, wherever a path has room for one.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// What stands in place of a name.
pub const NOT_SHOWN: &str = "(not shown: it has an @)";

/// Callers choose the names, so memory has an end; each call hides its own once more.
const MOST: usize = 1_000;

static NAMES: Names = Names(Mutex::new(VecDeque::new()));

/// Hides the names of a path that have an `@` from now on: in the log, and in what [`shown`] is given.
pub fn hide(path: &str) {
    NAMES.hide(path);
}

/// The text without hidden names, in whichever case it has them.
#[must_use]
pub fn shown(text: &str) -> String {
    NAMES.shown(text)
}

/// In lower case, the latest one last.
struct Names(Mutex<VecDeque<String>>);

impl Names {
    fn hide(&self, path: &str) {
        let names = path.split(['\\', '/']).filter(|name| name.contains('@'));
        for name in names.map(str::to_lowercase) {
            let mut hidden = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            hidden.retain(|one| *one != name);
            hidden.push_back(name);
            if hidden.len() > MOST {
                hidden.pop_front();
            }
        }
    }

    fn shown(&self, text: &str) -> String {
        if !text.contains('@') {
            return text.to_owned();
        }
        let hidden = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut shown, mut rest) = (String::new(), text);
        while let Some(first) = rest.chars().next() {
            let lengths = hidden.iter().filter_map(|name| length_of(name, rest));
            let length = match lengths.max() {
                Some(length) => {
                    shown.push_str(NOT_SHOWN);
                    length
                }
                None => {
                    shown.push(first);
                    first.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        shown
    }
}

/// How much of the text's beginning the name is.
fn length_of(name: &str, text: &str) -> Option<usize> {
    let mut name = name.chars();
    for (at, character) in text.char_indices() {
        for lower in character.to_lowercase() {
            match name.next() {
                None => return Some(at),
                Some(of_name) if of_name != lower => return None,
                Some(_) => {}
            }
        }
    }
    name.next().is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_name_is_shown_in_no_case() {
        let names = Names(Mutex::default());
        names.hide(r"\\server\share\pass word@a, b\ÄÖ@x");
        names.hide("//server/x@/@");
        for (text, expected) in [
            (
                r"\\server\share\PASS WORD@a, b: it",
                r"\\server\share\-: it",
            ),
            (r"pass word@a, b\äö@X\Äö@x", r"-\-\-"),
            ("x@ is mapped", "- is mapped"),
            (r"as \user", r"as \user"),
            ("pass word", "pass word"),
        ] {
            assert_eq!(names.shown(text), expected.replace('-', NOT_SHOWN));
        }
        assert_eq!(Names(Mutex::default()).shown("a@b"), "a@b");
    }

    #[test]
    fn the_latest_names_are_hidden() {
        let names = Names(Mutex::default());
        names.hide("/first@");
        for number in 0..MOST {
            names.hide(&format!("/{number}@of-many"));
            names.hide("/often@used");
        }
        assert_eq!(names.shown("first@"), "first@");
        assert_eq!(
            names.shown("often@used 999@of-many"),
            [NOT_SHOWN; 2].join(" ")
        );
    }
}
