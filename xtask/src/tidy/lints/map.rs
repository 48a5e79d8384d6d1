//! ARCHITECTURE.md stays a map: short, and each invariant names its tests.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "ARCHITECTURE.md has at most 1,600 words, and its invariants name their tests",
    check: |sources| {
        let page = sources.iter().find(|one| one.path == "ARCHITECTURE.md");
        page.into_iter().flat_map(check).collect()
    },
};

const MOST: usize = 1600;

/// The head of the invariants' table. `named_tests` checks the cells of a column with this name.
const LAST_COLUMN: &str = "| enforced by | tested by |";

fn check(page: &Source) -> Vec<Finding> {
    let words = page.text.split_whitespace().count();
    let is_long = (words > MOST).then(|| Finding::new(page, 0, format!("{words} words")));
    let mut rows = page.text.lines().zip(1..).skip_while(is_other);
    let head = rows.next();
    let is_headless = head
        .is_none()
        .then(|| Finding::new(page, 0, format!("no table with {LAST_COLUMN}")));
    let rows = rows.skip(1).take_while(|(line, _)| line.starts_with('|'));
    let untested = rows.filter(|(line, _)| !names_a_test(line));
    let untested = untested.map(|(_, number)| Finding::new(page, number, "no test"));
    is_long
        .into_iter()
        .chain(is_headless)
        .chain(untested)
        .collect()
}

fn is_other((line, _): &(&str, usize)) -> bool {
    !line.ends_with(LAST_COLUMN)
}

fn names_a_test(row: &str) -> bool {
    let cell = row.trim_end_matches([' ', '|']).rsplit('|').next();
    cell.is_some_and(|cell| cell.contains('`'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    const HEAD: &str = "| | holds | enforced by | tested by |\n|---|---|---|---|\n";

    #[test]
    fn the_limit_is_the_last_good_length() {
        let words = HEAD.split_whitespace().count();
        let page = |most: usize| format!("{HEAD}\n{}", "word ".repeat(most - words));
        assert_eq!(findings(&LINT, "ARCHITECTURE.md", &page(MOST)), CLEAN);
        assert_eq!(findings(&LINT, "ARCHITECTURE.md", &page(MOST + 1)), [0]);
        assert_eq!(findings(&LINT, "README.md", &page(MOST + 1)), CLEAN);
    }

    #[test]
    fn an_invariant_without_a_test_is_found() {
        let page = format!("{HEAD}| 1 | x | `y` | `z` |\n| 2 | x | `y` | a tool |\n");
        assert_eq!(findings(&LINT, "ARCHITECTURE.md", &page), [4]);
        assert_eq!(findings(&LINT, "ARCHITECTURE.md", "no table\n"), [0]);
    }
}
