use std::convert::Infallible;
use std::str::FromStr;

use serde::Deserialize;

/// A text in which `*` matches anything; compares without case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Pattern(String);

impl Pattern {
    /// Whether the whole of `text` fits.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        if self.0 == "*" {
            return true;
        }
        let text = text.to_lowercase();
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(rest) = text.strip_prefix(first) else {
            return false;
        };
        match parts.next_back() {
            None => rest.is_empty(),
            Some(last) => middle_fits(parts, last, rest),
        }
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self(text.to_lowercase())
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self(text.to_lowercase())
    }
}

impl FromStr for Pattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

fn middle_fits<'a>(parts: impl Iterator<Item = &'a str>, last: &str, text: &str) -> bool {
    let mut rest = text;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_star_stands_for_anything() {
        let pattern = Pattern::from("MSFT_*.on*line");
        assert!(pattern.matches("msft_disk.Online"));
        assert!(pattern.matches("MSFT_Partition.on and on until line"));
        assert!(!pattern.matches("MSFT_Disk.Offline"));
        assert!(!pattern.matches("MSFT_Disk.Online "));
    }

    #[test]
    fn parts_do_not_overlap() {
        assert!(!Pattern::from("ab*ba").matches("aba"));
        assert!(Pattern::from("ab*ba").matches("abba"));
    }

    #[test]
    fn without_a_star_all_of_it_must_fit() {
        assert!(Pattern::from("flush").matches("FLUSH"));
        assert!(!Pattern::from("flush").matches("flush all"));
        assert!(Pattern::from("*").matches(""));
        assert!(!Pattern::from("").matches("x"));
    }
}
