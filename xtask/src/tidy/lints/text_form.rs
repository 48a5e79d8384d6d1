//! Texts end with one newline and lines end without blanks.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "a text ends with one newline, has no carriage returns and no blanks at line ends",
    check: |sources| {
        let texts = sources.iter().filter(|source| is_written_by_hand(source));
        texts.flat_map(check).collect()
    },
};

/// Lock files are tools' own, fixtures and seeds are bytes.
fn is_written_by_hand(source: &Source) -> bool {
    let kinds = [
        "c", "go", "h", "md", "mod", "proto", "rs", "sh", "toml", "yaml", "yml",
    ];
    source
        .path
        .rsplit_once('.')
        .is_some_and(|(_, kind)| kinds.contains(&kind))
}

fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let good_end = source.text.ends_with('\n') && !source.text.ends_with("\n\n");
    if !source.text.is_empty() && !good_end {
        found.push(Finding::new(source, 0, "end of file"));
    }
    let lines = source
        .text
        .split('\n')
        .zip(1..)
        .filter(|(line, _)| line.ends_with([' ', '\t', '\r']));
    found.extend(lines.map(|(_, number)| Finding::new(source, number, "end of line")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn ends_are_checked() {
        assert_eq!(findings(&LINT, "a.md", "good\n"), CLEAN);
        assert_eq!(findings(&LINT, "a.md", "no newline"), [0]);
        assert_eq!(findings(&LINT, "a.md", "two\n\n"), [0]);
        assert_eq!(findings(&LINT, "seeds/a.bin", "no newline"), CLEAN);
        assert_eq!(findings(&LINT, "a.md", "good\nblank \r\n"), [2]);
    }
}
