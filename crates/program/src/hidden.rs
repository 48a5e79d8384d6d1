//! Names that no text shows: people write passwords before an `@`, wherever a path has room for one.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::escape::bounded;

/// What stands in place of a name.
pub const NOT_SHOWN: &str = "(not shown: it has an @)";

/// Callers choose the names, so memory has an end; each call hides its own again.
const MOST: usize = 1_000;
/// No name of Windows has more characters.
const LONGEST_NAME: usize = 255;
/// So a search has an end, in bytes.
const LONGEST_TEXT: usize = 8 << 10;

static NAMES: Names = Names(Mutex::new(VecDeque::new()));

/// Hides the names of a path, or of a volume's handle, that have an `@` from now on: in the log, in the event log, on the
/// pages, and in what [`shown`] is given.
pub fn hide(path: &str) {
    NAMES.hide(path);
}

/// The text without hidden names, in whichever case it has them after a separator or a quotation mark.
#[must_use]
pub fn shown(text: &str) -> String {
    NAMES.shown(text)
}

/// Folded, the latest one last.
struct Names(Mutex<VecDeque<Vec<char>>>);

impl Names {
    fn hide(&self, path: &str) {
        if !path.contains('@') {
            return;
        }
        let names = path.split(['\\', '/']);
        let parts = names.flat_map(|name| [name].into_iter().chain(name.split('#')));
        for name in parts.filter(|name| name.contains('@')) {
            let name: Vec<char> = name.chars().map(folded).take(LONGEST_NAME).collect();
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
        let hidden: HashSet<Vec<char>> = hidden.iter().cloned().collect();
        let mut lengths = Vec::from_iter(hidden.iter().map(Vec::len));
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        lengths.dedup();
        let text: Vec<char> = bounded(text.to_owned(), LONGEST_TEXT).chars().collect();
        let folded: Vec<char> = text.iter().copied().map(folded).collect();
        let (mut shown, mut at) = (String::new(), 0);
        while at < text.len() {
            let is_start = at == 0 || ['\\', '/', '#', '"'].contains(&text[at - 1]);
            let is_name = |length: &&usize| {
                let name = folded.get(at..at + **length);
                name.is_some_and(|name| hidden.contains(name))
            };
            match lengths.iter().find(|length| is_start && is_name(length)) {
                Some(length) => {
                    shown.push_str(NOT_SHOWN);
                    at += length;
                }
                None => {
                    shown.push(text[at]);
                    at += 1;
                }
            }
        }
        shown
    }
}

/// One character for each, so that both texts keep their lengths.
fn folded(character: char) -> char {
    match character.to_lowercase().next() {
        // As the last of a word it has another form.
        Some('ς') => 'σ',
        lower => lower.unwrap_or(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_name_is_shown_in_no_case() {
        let names = Names(Mutex::default());
        names.hide(r"\\server\share\pass word@a, b\ÄÖ@x");
        names.hide("//server/x@/@");
        names.hide("srv/κωδικος@σ#a@b#uid");
        for (text, expected) in [
            (
                r"\\server\share\PASS WORD@a, b: it",
                r"\\server\share\-: it",
            ),
            (r"pass word@a, b\äö@X\Äö@x", r"-\-\-"),
            ("x@ is mapped", "- is mapped"),
            ("handle srv/x@#uid", "handle srv/-#uid"),
            (r"\ΚΩΔΙΚΟΣ@Σ\κωδικοσ@ς", r"\-\-"),
            (r"as \user", r"as \user"),
            ("pass word", "pass word"),
            ("srv#A@b#", "srv#-#"),
            (r#"volume "x@/y""#, r#"volume "-/y""#),
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
            names.shown("often@used/999@of-many"),
            [NOT_SHOWN; 2].join("/")
        );
    }
}
