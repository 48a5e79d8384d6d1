//! Unfinished work is an issue, not a mark in the code. Clippy finds the macros for it.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "no unfinished code and no test that is switched off",
    check: |sources| {
        let code = sources
            .iter()
            .filter(|source| source.is_rust() || source.is_go());
        code.flat_map(check).collect()
    },
};

/// Written in halves, so this file does not find itself.
const MARKS: [(&str, &str); 3] = [("#[ign", "ore"), ("TO", "DO"), ("FIX", "ME")];

fn check(source: &Source) -> Vec<Finding> {
    let marked = source
        .text
        .lines()
        .zip(1..)
        .filter(|(line, _)| is_marked(line));
    marked
        .map(|(line, number)| Finding::new(source, number, line.trim()))
        .collect()
}

fn is_marked(line: &str) -> bool {
    MARKS.iter().any(|(a, b)| line.contains(&format!("{a}{b}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn marks_are_found() {
        assert_eq!(
            findings(&LINT, "a.rs", &format!("x\n{}{}\n", "TO", "DO")),
            [2]
        );
        assert_eq!(findings(&LINT, "a.rs", "let todos = 1;\n"), CLEAN);
    }
}
