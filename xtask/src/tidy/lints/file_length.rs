//! A file too long to read in one go holds more than one thing.

use super::{Finding, Lint, Source};

const MOST: usize = 600;

pub(super) const LINT: Lint = Lint {
    rule: "a source file has at most 600 lines",
    check: |sources| {
        sources
            .iter()
            .filter(|s| s.is_rust() || s.is_go())
            .filter_map(check)
            .collect()
    },
};

fn check(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    (lines > MOST).then(|| Finding::new(source, 0, format!("{lines} lines")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn the_limit_is_the_last_good_length() {
        assert_eq!(findings(&LINT, "a.rs", &"\n".repeat(MOST)), CLEAN);
        assert_eq!(findings(&LINT, "a.rs", &"\n".repeat(MOST + 1)), [0]);
    }
}
