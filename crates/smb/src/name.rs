//! Names and paths as the server has them: units of UTF-16, which need not be Unicode.

use std::fmt;

/// The longest name that a server's file system has, in units.
const LONGEST_NAME: usize = 255;
/// The longest path that Windows takes, in units.
const LONGEST_PATH: usize = 32_759;

/// The name of a file, a folder or a share.
///
/// Two names are equal if their units are: a server may take `a` and `A` for one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Vec<u16>);

/// A path below a share's root; the root's has no names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharePath(Vec<Name>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("it is empty")]
    Empty,
    #[error("it names a place, not an entry")]
    Dots,
    /// It has a separator, a wildcard, a colon (a stream) or a control character.
    #[error("it has a character that no name may have")]
    Character,
    #[error("it is too long")]
    TooLong,
    #[error("the path is too long")]
    PathTooLong,
}

impl Name {
    pub fn from_units(units: &[u16]) -> Result<Self, NameError> {
        const DOT: u16 = b'.' as u16;
        match units {
            [] => Err(NameError::Empty),
            [DOT] | [DOT, DOT] => Err(NameError::Dots),
            _ if units.len() > LONGEST_NAME => Err(NameError::TooLong),
            _ if units.iter().copied().any(is_refused) => Err(NameError::Character),
            _ => Ok(Self(units.to_vec())),
        }
    }

    pub fn new(text: &str) -> Result<Self, NameError> {
        Self::from_units(&text.encode_utf16().collect::<Vec<_>>())
    }

    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// The same for names that a server may take for one; for others hardly ever.
    pub(crate) fn folded(&self) -> String {
        upper(&String::from_utf16_lossy(&self.0))
    }
}

impl SharePath {
    pub fn root() -> Self {
        Self::default()
    }

    /// A path of names with `/` between them; an empty text is the root.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        text.split('/')
            .try_fold(Self::root(), |path, part| path.join(&Name::new(part)?))
    }

    /// The path of an entry in this folder.
    pub fn join(&self, name: &Name) -> Result<Self, NameError> {
        let mut names = self.0.clone();
        names.push(name.clone());
        let units: usize = names.iter().map(|name| name.0.len() + 1).sum();
        if units > LONGEST_PATH {
            return Err(NameError::PathTooLong);
        }
        Ok(Self(names))
    }

    /// The folder above; the root has none.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// The names from the root on.
    pub fn names(&self) -> &[Name] {
        &self.0
    }

    /// The path as requests have it.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let parts: Vec<&[u16]> = self.0.iter().map(Name::units).collect();
        let separator = [u16::from(b'\\')];
        let units = parts.join(separator.as_slice());
        units.into_iter().flat_map(u16::to_le_bytes).collect()
    }
}

/// A text for logs, in which two names differ if their units do: what is not plain is escaped.
pub(crate) fn escape(units: &[u16]) -> String {
    char::decode_utf16(units.iter().copied())
        .map(|unit| match unit {
            Ok(c) if c == '\'' || c == '"' => c.to_string(),
            Ok(c) if ('\u{e000}'..='\u{f8ff}').contains(&c) => c.escape_unicode().to_string(),
            Ok(c) => c.escape_debug().to_string(),
            Err(half) => format!("\\u{{{:x}}}", half.unpaired_surrogate()),
        })
        .collect()
}

/// Upper case unit by unit: a character whose upper case has another length stays, as in Windows's table.
pub(crate) fn upper(text: &str) -> String {
    let one = |c: char| {
        let mut forms = c.to_uppercase();
        match (forms.next(), forms.next()) {
            (Some(upper), None) if c.len_utf16() + upper.len_utf16() == 2 => upper,
            _ => c,
        }
    };
    text.chars().map(one).collect()
}

/// What Windows refuses in names, and what would lead elsewhere.
fn is_refused(unit: u16) -> bool {
    unit < 0x20 || u8::try_from(unit).is_ok_and(|byte| br#"\/:*?"<>|"#.contains(&byte))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl fmt::Display for SharePath {
    /// `\` before each name, so that it can follow `\\server\share`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, "\\{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, NameError, SharePath, upper};

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (text, error) in [
            ("", NameError::Empty),
            (".", NameError::Dots),
            ("..", NameError::Dots),
            ("a\\b", NameError::Character),
            ("a/b", NameError::Character),
            ("a:b", NameError::Character),
            ("a*", NameError::Character),
            ("a\0", NameError::Character),
            (&"x".repeat(256), NameError::TooLong),
        ] {
            assert_eq!(Name::new(text), Err(error), "{text:?}");
        }
        for text in ["...", "a b", "a\u{f028}b", "ä", "x".repeat(255).as_str()] {
            assert!(Name::new(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn paths_have_a_text_for_each_unit() {
        let half = Name::from_units(&[0x61, 0xd800, 0x62]).unwrap();
        for (path, text) in [
            (SharePath::root(), ""),
            (SharePath::new("a/b c").unwrap(), r"\a\b c"),
            (SharePath::new("a\u{f028}b").unwrap(), r"\a\u{f028}b"),
            (SharePath::root().join(&half).unwrap(), r"\a\u{d800}b"),
        ] {
            assert_eq!(path.to_string(), text);
        }
        assert_eq!(SharePath::new("a/b").unwrap().encode(), b"a\0\\\0b\0");
        assert_eq!(SharePath::new("a//b"), Err(NameError::Empty));
        let long = vec!["x".repeat(255); 128].join("/");
        assert_eq!(SharePath::new(&long), Err(NameError::PathTooLong));
        assert_eq!(SharePath::root().parent(), None);
    }

    #[test]
    fn upper_case_keeps_the_number_of_units() {
        let plain = ("User1", "USER1");
        for (text, expected) in [plain, ("jörg", "JÖRG"), ("weiß", "WEIß"), ("ŉ𐐨", "ŉ𐐨")]
        {
            assert_eq!(upper(text), expected);
        }
    }
}
