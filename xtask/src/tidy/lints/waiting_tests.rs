//! A test that sleeps to be on time fails on a slow machine and wastes a fast one.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "no test sleeps to synchronise",
    check: |sources| {
        let code = sources
            .iter()
            .filter(|source| source.is_rust() || source.is_go());
        code.flat_map(check).collect()
    },
};

/// Written in halves, so this file does not find itself.
const SLEEPS: [(&str, &str); 3] = [
    ("thread::sle", "ep("),
    ("time::sle", "ep("),
    ("time.Sle", "ep("),
];

fn check(source: &Source) -> Vec<Finding> {
    let sleeping = source
        .lines()
        .filter(|line| line.in_tests && sleeps(line.code()));
    sleeping
        .map(|line| Finding::new(source, line.number, line.text.trim()))
        .collect()
}

fn sleeps(code: &str) -> bool {
    SLEEPS
        .iter()
        .any(|(a, b)| code.contains(&format!("{a}{b}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::findings;

    #[test]
    fn only_tests_are_meant() {
        let text = format!(
            "{0}x)\n#[cfg(test)]\n{0}x)\n",
            format!("{}{}", "thread::sle", "ep(")
        );
        assert_eq!(findings(&LINT, "crates/a/src/lib.rs", &text), [3]);
        assert_eq!(findings(&LINT, "crates/a/tests/it.rs", &text), [1, 3]);
    }
}
