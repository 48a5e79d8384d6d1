//! A crate says first what it is.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "a crate begins with //! and one sentence that says what it is",
    check: |sources| {
        sources
            .iter()
            .filter(|s| is_root(s) && !has_doc(s))
            .map(finding)
            .collect()
    },
};

fn is_root(source: &Source) -> bool {
    source.path.ends_with("/src/lib.rs") || source.path.ends_with("/src/main.rs")
}

fn has_doc(source: &Source) -> bool {
    source
        .text
        .lines()
        .next()
        .is_some_and(|line| line.len() > 10 && line.starts_with("//! "))
}

fn finding(source: &Source) -> Finding {
    Finding::new(source, 1, "begins without a sentence")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn the_first_line_is_the_sentence() {
        assert_eq!(
            findings(&LINT, "crates/a/src/lib.rs", "//! Says what it is.\n"),
            CLEAN
        );
        assert_eq!(findings(&LINT, "crates/a/src/lib.rs", "//!\n"), [1]);
        assert_eq!(
            findings(&LINT, "crates/a/src/main.rs", "fn main() {}\n"),
            [1]
        );
        assert_eq!(
            findings(&LINT, "crates/a/src/other.rs", "fn main() {}\n"),
            CLEAN
        );
    }
}
