//! A test program's verdict on its tests, read from its output.

use std::collections::BTreeMap;

use super::outcome::Counts;

/// A test program's harness.
#[derive(Clone, Copy)]
pub(super) enum Language {
    /// `go test -v`; a test with subtests is counted by these.
    Go,
    /// Rust's own, and libtest-mimic; ignored tests are skipped ones. Several programs one after the other add up.
    Rust,
}

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

impl Language {
    pub(super) fn read(self, output: &str) -> Verdict {
        let mut verdict = match self {
            Self::Go => go(output),
            Self::Rust => rust(output),
        };
        for (what, number) in output.lines().filter_map(counted) {
            *verdict.counted.entry(what).or_default() += number;
        }
        verdict
    }

    /// The part of a program's output on its failed tests.
    pub(super) fn about_failures(self, output: &str) -> String {
        match self {
            Self::Go => go_failures(output),
            Self::Rust => {
                let begin = output.find("\nfailures:\n").unwrap_or_default();
                output[begin..].trim_start().to_owned()
            }
        }
    }
}

fn rust(output: &str) -> Verdict {
    let mut verdict = Verdict {
        failed: listed_failures(output),
        skipped: output.lines().filter_map(ignored).collect(),
        ..Verdict::default()
    };
    let results = output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "));
    for line in results {
        verdict.concluded = true;
        verdict.counts += result_line(line);
    }
    verdict
}

fn go(output: &str) -> Verdict {
    let tests: BTreeMap<&str, Ending> = output.lines().filter_map(go_line).collect();
    let mut verdict = Verdict {
        concluded: output.lines().any(|line| line == "PASS" || line == "FAIL"),
        ..Verdict::default()
    };
    let Verdict {
        counts,
        failed,
        skipped,
        ..
    } = &mut verdict;
    for (name, ending) in tests.iter().filter(|(name, _)| !is_parent(name, &tests)) {
        let name = (*name).to_owned();
        match ending {
            Ending::Passed => counts.passed += 1,
            Ending::Failed => {
                counts.failed += 1;
                failed.push(name);
            }
            Ending::Skipped => {
                counts.skipped += 1;
                skipped.push(name);
            }
        }
    }
    verdict
}

#[derive(Clone, Copy)]
enum Ending {
    Passed,
    Failed,
    Skipped,
}

/// `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`
fn result_line(line: &str) -> Counts {
    let fields = line
        .split(['.', ';'])
        .filter_map(|field| field.trim().split_once(' '));
    let number = |word: &str| {
        let field = fields.clone().find(|(_, name)| *name == word);
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

/// The parts of `go test -v`'s output with a failed test, each from the test's beginning.
fn go_failures(output: &str) -> String {
    let mut parts: Vec<String> = vec![String::new()];
    for line in output.lines() {
        let begins = line.strip_prefix("=== RUN   ");
        if begins.is_some_and(|name| !name.contains('/')) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            *part += &format!("{line}\n");
        }
    }
    parts.retain(|part| part.contains("--- FAIL: "));
    parts.concat()
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
=== RUN   TestA/one
=== RUN   TestA/two
    a.go:1: why
--- FAIL: TestA (0.00s)
    --- PASS: TestA/one (0.00s)
    --- FAIL: TestA/two (0.00s)
=== RUN   TestB
--- SKIP: TestB (0.00s)
=== RUN   TestAB
--- PASS: TestAB (0.00s)
FAIL
";

    fn counts(verdict: &Verdict) -> [u32; 3] {
        let Counts {
            passed,
            failed,
            skipped,
        } = verdict.counts;
        [passed, failed, skipped]
    }

    #[test]
    fn rusts_results_add_up_and_name_what_failed() {
        let verdict = Language::Rust.read(RUST);
        assert_eq!(counts(&verdict), [11, 1, 1]);
        assert_eq!(verdict.failed, ["c"]);
        assert_eq!(verdict.skipped, ["b, not here"]);
        assert!(verdict.concluded);
        let shown = Language::Rust.about_failures(RUST);
        assert!(shown.starts_with("failures:\n\n---- c stdout"), "{shown}");
        assert_eq!(Language::Rust.about_failures("nothing"), "nothing");
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
        let expected = [("cases".to_owned(), 42), ("fixtures".to_owned(), 3)];
        assert_eq!(Language::Rust.read(output).counted, expected.into());
    }

    #[test]
    fn gos_leaves_are_counted_and_named() {
        let verdict = Language::Go.read(GO);
        assert_eq!(counts(&verdict), [2, 1, 1]);
        assert_eq!(verdict.failed, ["TestA/two"]);
        assert_eq!(verdict.skipped, ["TestB"]);
        assert!(verdict.concluded);
        let shown = Language::Go.about_failures(GO);
        assert!(shown.starts_with("=== RUN   TestA\n"), "{shown}");
        assert!(shown.ends_with("TestA/two (0.00s)\n"), "{shown}");
    }

    #[test]
    fn a_program_that_dies_on_the_way_has_not_concluded() {
        let rust = "running 3 tests\ntest a ... ok\nwine client error:0: recvmsg\n";
        assert!(!Language::Rust.read(rust).concluded);
        let go = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n";
        assert!(!Language::Go.read(go).concluded);
    }
}
