//! A test program's verdict on its tests, read from its output.

use std::collections::BTreeMap;

use super::counts::Counts;

/// A test program's verdict.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Verdict {
    pub(super) counts: Counts,
    /// The failed tests.
    pub(super) failed: Vec<String>,
    /// The skipped tests, each with its reason.
    pub(super) skipped: Vec<String>,
    /// The program's own counts of its cases, added up by kind.
    pub(super) counted: BTreeMap<String, u64>,
    /// Whether it came to its end: a program that dies on the way prints no result.
    pub(super) concluded: bool,
}

impl Verdict {
    /// Reads the output of Rust's test harness and of libtest-mimic; ignored tests are skipped
    /// ones. Several programs one after the other add up.
    pub(super) fn of_rust(output: &str) -> Self {
        let results: Vec<Counts> = output
            .lines()
            .filter_map(|line| line.strip_prefix("test result: "))
            .map(result_line)
            .collect();
        Self {
            concluded: !results.is_empty(),
            counts: results.into_iter().sum(),
            failed: listed_failures(output),
            skipped: output.lines().filter_map(ignored).collect(),
            counted: added_up(output.lines().filter_map(counted)),
        }
    }

    /// Reads the output of `go test -v`; a test with subtests is counted by these.
    pub(super) fn of_go(output: &str) -> Self {
        let tests: BTreeMap<&str, Ending> = output.lines().filter_map(go_line).collect();
        let leaves = tests.iter().filter(|(name, _)| !is_parent(name, &tests));
        let mut verdict = Self {
            concluded: output.lines().any(|line| line == "PASS" || line == "FAIL"),
            ..Self::default()
        };
        for (name, ending) in leaves {
            verdict.add(name, *ending);
        }
        verdict
    }

    fn add(&mut self, name: &str, ending: Ending) {
        let counts = match ending {
            Ending::Passed => Counts::passed(1),
            Ending::Failed => {
                self.failed.push(name.to_owned());
                Counts::failed(1)
            }
            Ending::Skipped => {
                self.skipped.push(name.to_owned());
                Counts::skipped(1)
            }
        };
        self.counts = self.counts + counts;
    }
}

#[derive(Clone, Copy)]
enum Ending {
    Passed,
    Failed,
    Skipped,
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

/// The names in the lists at the end of a failed program's output: `failures:`, then a name a line, each after four
/// blanks.
fn listed_failures(output: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut in_list = false;
    for line in output.lines() {
        match line.strip_prefix("    ") {
            Some(name) if in_list => names.push(name.trim_end().to_owned()),
            _ => in_list = line == "failures:",
        }
    }
    names
}

/// `test name ... ignored, its reason`
fn ignored(line: &str) -> Option<String> {
    let (name, ending) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let reason = ending.strip_prefix("ignored")?;
    Some(format!("{}{reason}", name.trim_end()))
}

/// `counted: 40 cases (mkdir: 10 operations)`, written by a program past its harness: with one
/// thread the harness's `test name ... ` is before it.
fn counted(line: &str) -> Option<(String, u64)> {
    let (_, counted) = line.split_once("counted: ")?;
    let (number, what) = counted.split_once(' ')?;
    let what = what.split_once(" (").map_or(what, |(what, _)| what);
    Some((what.to_owned(), number.parse().ok()?))
}

fn added_up(counted: impl Iterator<Item = (String, u64)>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (what, number) in counted {
        *sums.entry(what).or_default() += number;
    }
    sums
}

/// `    --- PASS: TestName/sub (0.01s)`
fn go_line(line: &str) -> Option<(&str, Ending)> {
    let (verdict, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let name = rest.split_once(' ').map_or(rest, |(name, _)| name);
    let ending = match verdict {
        "PASS" => Ending::Passed,
        "FAIL" => Ending::Failed,
        "SKIP" => Ending::Skipped,
        _ => return None,
    };
    Some((name, ending))
}

/// Whether a Go test has subtests.
fn is_parent(name: &str, tests: &BTreeMap<&str, Ending>) -> bool {
    let inside = format!("{name}/");
    tests.keys().any(|other| other.starts_with(&inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "\
running 3 tests
test a ... ok
test b ... ignored, not here
test c ... FAILED

failures:

---- c stdout ----
thread 'c' panicked at x.rs:1:2:
    indented words of the panic


failures:
    c

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s

running 10 tests
test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.50s
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
    fn rusts_results_add_up_and_name_what_failed() {
        let verdict = Verdict::of_rust(RUST);
        let counts = Counts {
            passed: 11,
            failed: 1,
            skipped: 1,
        };
        assert_eq!(verdict.counts, counts);
        assert_eq!(verdict.failed, ["c"]);
        assert_eq!(verdict.skipped, ["b, not here"]);
        assert!(verdict.concluded);
    }

    #[test]
    fn what_a_program_counts_is_added_up_by_what_it_is() {
        let output = "\
running 2 tests
counted: 40 cases (mkdir: 10 operations)
counted: 3 fixtures (refused on a whole disk)
test b ... counted: 2 cases (symlink)
counted: many cases
ok
";
        let counted = Verdict::of_rust(output).counted;
        let expected = [("cases".to_owned(), 42), ("fixtures".to_owned(), 3)];
        assert_eq!(counted, expected.into());
    }

    #[test]
    fn gos_leaves_are_counted_and_named() {
        let verdict = Verdict::of_go(GO);
        let counts = Counts {
            passed: 2,
            failed: 1,
            skipped: 1,
        };
        assert_eq!(verdict.counts, counts);
        assert_eq!(verdict.failed, ["TestA/two"]);
        assert_eq!(verdict.skipped, ["TestB"]);
        assert!(verdict.concluded);
    }

    #[test]
    fn a_program_that_dies_on_the_way_has_not_concluded() {
        let rust = "running 3 tests\ntest a ... ok\nwine client error:0: recvmsg\n";
        assert!(!Verdict::of_rust(rust).concluded);
        assert!(!Verdict::of_go("=== RUN   TestA\n--- PASS: TestA (0.00s)\n").concluded);
    }
}
