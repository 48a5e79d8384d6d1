//! Test counts, read from what the test runners print.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::Add;

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
}

impl Counts {
    /// Sums the `test result:` lines of cargo's test programs; ignored tests are skipped ones.
    pub(super) fn of_cargo(output: &str) -> Self {
        output
            .lines()
            .filter_map(|line| line.strip_prefix("test result: "))
            .map(result_line)
            .sum()
    }

    /// Counts the `--- PASS:` lines of `go test -v`; a test with subtests is counted by these.
    pub(super) fn of_go(output: &str) -> Self {
        let verdicts: BTreeMap<&str, Self> = output.lines().filter_map(go_line).collect();
        let is_parent = |name: &str| {
            let inside = format!("{name}/");
            verdicts.keys().any(|other| other.starts_with(&inside))
        };
        verdicts
            .iter()
            .filter(|(name, _)| !is_parent(name))
            .map(|(_, counts)| *counts)
            .sum()
    }

    /// A runner that failed without naming a failed test (it did not compile, it was killed) still
    /// counts as one failure.
    pub(super) fn with_status(mut self, success: bool) -> Self {
        if !success && self.failed == 0 {
            self.failed = 1;
        }
        self
    }

    pub(super) const fn one_failed() -> Self {
        Self {
            passed: 0,
            failed: 1,
            skipped: 0,
        }
    }

    pub(super) const fn skipped(skipped: u32) -> Self {
        Self {
            passed: 0,
            failed: 0,
            skipped,
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Self::add)
    }
}

/// `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`
fn result_line(line: &str) -> Counts {
    let number = |word: &str| {
        let fields = line.split(['.', ';']).map(str::trim);
        let field = fields
            .filter_map(|field| field.split_once(' '))
            .find(|(_, name)| *name == word);
        field
            .and_then(|(number, _)| number.parse().ok())
            .unwrap_or(0)
    };
    Counts {
        passed: number("passed"),
        failed: number("failed"),
        skipped: number("ignored"),
    }
}

/// `    --- PASS: TestName/sub (0.01s)`
fn go_line(line: &str) -> Option<(&str, Counts)> {
    let (verdict, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let name = rest.split_once(' ').map_or(rest, |(name, _)| name);
    let counts = match verdict {
        "PASS" => Counts {
            passed: 1,
            ..Counts::default()
        },
        "FAIL" => Counts::one_failed(),
        "SKIP" => Counts::skipped(1),
        _ => return None,
    };
    Some((name, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO: &str = "\
running 3 tests
test a ... ok
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s

test result: FAILED. 10 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.50s
";

    const GO: &str = "\
=== RUN   TestA
--- PASS: TestA (0.00s)
    --- PASS: TestA/one (0.00s)
    --- FAIL: TestA/two (0.00s)
--- SKIP: TestB (0.00s)
--- PASS: TestAB (0.00s)
FAIL
";

    #[test]
    fn cargo_lines_add_up() {
        assert_eq!(
            Counts::of_cargo(CARGO),
            Counts {
                passed: 12,
                failed: 4,
                skipped: 1
            }
        );
    }

    #[test]
    fn go_counts_leaves() {
        assert_eq!(
            Counts::of_go(GO),
            Counts {
                passed: 2,
                failed: 1,
                skipped: 1
            }
        );
    }

    #[test]
    fn a_failure_without_a_failed_test_counts() {
        assert_eq!(Counts::default().with_status(false).failed, 1);
        assert_eq!(Counts::of_cargo(CARGO).with_status(false).failed, 4);
        assert_eq!(Counts::default().with_status(true).failed, 0);
    }
}
