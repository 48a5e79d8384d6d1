//! Literals of WQL, the query language of WMI: the one place where a text becomes part of a query.
//!
//! Rules: <https://learn.microsoft.com/windows/win32/wmisdk/where-clause>.

/// Texts with a NUL have no literal: queries are strings that some of their readers end at a NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("text has a NUL")]
pub struct Nul;

/// The literal of a text: in single quotes, with a backslash before quotes of either kind and before
/// backslashes.
///
/// # Errors
/// The text has a NUL.
pub fn quoted(text: &str) -> Result<String, Nul> {
    if text.contains('\0') {
        return Err(Nul);
    }
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for character in text.chars() {
        if matches!(character, '\'' | '"' | '\\') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal.push('\'');
    Ok(literal)
}

/// Reads the literal that a query goes on with; its text, and what follows. `None` when it does not
/// begin with a literal or the literal does not end.
#[must_use]
pub fn read(query: &str) -> Option<(String, &str)> {
    let quote = query
        .chars()
        .next()
        .filter(|first| matches!(first, '\'' | '"'))?;
    let mut text = String::new();
    let mut characters = query.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => text.push(characters.next()?.1),
            end if end == quote => return Some((text, &query[at + 1..])),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(quoted(r"\\a\b").as_deref(), Ok(r"'\\\\a\\b'"));
        assert_eq!(quoted("o'neil").as_deref(), Ok(r"'o\'neil'"));
        assert_eq!(quoted("\""), Ok(r#"'\"'"#.to_owned()));
        assert_eq!(quoted(""), Ok("''".to_owned()));
        assert_eq!(quoted("a\0"), Err(Nul));
    }

    #[test]
    fn what_does_not_end_is_no_literal() {
        for text in ["", "a", "'", "'a", r"'\'", "'a\"", r"'a\"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("\"a'b\" AND"), Some(("a'b".to_owned(), " AND")));
    }

    proptest! {
        /// Guards: P24
        #[test]
        fn what_is_quoted_is_one_literal_and_reads_the_same(
            text in r#"([^\x00]|['"\\]){0,40}"#,
            after in ".{0,8}",
        ) {
            let query = quoted(&text).unwrap() + &after;
            prop_assert_eq!(read(&query), Some((text, after.as_str())));
        }
    }
}
