//! Paths of kubelet's.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use wincsi::{PathError, WinPath};

/// A path of kubelet's. Two are the same where Windows takes them for the same.
#[derive(Clone, Debug)]
pub struct KubeletPath(WinPath);

/// Whether Windows takes both for the same: without case, unit by unit.
pub(crate) fn is_same(one: &WinPath, other: &WinPath) -> bool {
    upper_case(one) == upper_case(other)
}

impl KubeletPath {
    /// A text that two paths share if they are the same. That of [`WinPath::folded`] joins more, as no key of a map may.
    pub(crate) fn folded(&self) -> String {
        upper_case(&self.0)
    }
}

fn upper_case(path: &WinPath) -> String {
    match path.to_plain().into_string() {
        Ok(text) => text.chars().map(upper).collect(),
        // In quotes it is no other path's.
        Err(text) => format!("{text:?}"),
    }
}

/// By the scripts in which each Windows has the same pairs (MS-UCODEREF 3.1.5.3 names its table). Elsewhere a unit is
/// only itself, as Unicode has pairs by now that the table of an older volume lacks.
fn upper(unit: char) -> char {
    let mut upper = unit.to_uppercase();
    match (upper.next(), upper.next(), unit) {
        (Some(upper), None, '\0'..='\u{17f}' | '\u{386}'..='\u{3ce}' | '\u{400}'..='\u{45f}')
            // Not the capital letter of another: that of the dotless i, the long s or the micro sign.
            if upper.to_lowercase().eq([unit]) =>
        {
            upper
        }
        _ => unit,
    }
}

impl PartialEq for KubeletPath {
    fn eq(&self, other: &Self) -> bool {
        is_same(self, other)
    }
}

impl Eq for KubeletPath {}

impl Deref for KubeletPath {
    type Target = WinPath;

    fn deref(&self) -> &WinPath {
        &self.0
    }
}

impl From<WinPath> for KubeletPath {
    fn from(path: WinPath) -> Self {
        Self(path)
    }
}

impl FromStr for KubeletPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for KubeletPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unicode's own folding makes one name of each of the second half.
    #[test]
    fn paths_are_compared_as_windows_does() {
        let path = |name: &str| format!(r"C:\{name}\x").parse::<KubeletPath>().unwrap();
        let same = [
            ("kubelet", "KuBeLeT"),
            ("ÄÖü", "äöÜ"),
            ("ÿ", "Ÿ"),
            ("Σά", "σΆ"),
            ("Жё", "жЁ"),
        ];
        for (one, other) in same {
            assert_eq!(path(one), path(other));
            assert_eq!(path(one).folded(), path(other).folded());
        }
        let others = [
            ("k", "\u{212a}"),
            ("i", "ı"),
            ("i", "İ"),
            ("s", "ſ"),
            ("ss", "ß"),
            ("µ", "Μ"),
            ("å", "\u{212b}"),
            ("ა", "\u{1c90}"),
            ("ϳ", "\u{37f}"),
            ("\u{10428}", "\u{10400}"),
        ];
        for (one, other) in others {
            assert_ne!(path(one), path(other));
            assert_ne!(path(one).folded(), path(other).folded());
        }
        assert_eq!(
            r"c:\x".parse::<KubeletPath>().unwrap(),
            r"C:\X".parse().unwrap()
        );
    }
}
