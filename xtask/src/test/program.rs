//! One test program: run it, and judge it by its status and its words.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::counts::Counts;
use super::outcome::{Failure, Outcome};
use super::verdict::Verdict;
use crate::cargo;
use crate::process::{self, Finished, interrupt};

/// The lines shown of a dead program.
const LAST_WORDS: usize = 60;

/// A test program, ready to run.
pub(super) struct Program<'a> {
    /// Its step.
    pub(super) step: &'a str,
    pub(super) name: &'a str,
    pub(super) limit: Duration,
    pub(super) language: Language,
}

/// A program's test harness.
#[derive(Clone, Copy)]
pub(super) enum Language {
    Go,
    Rust,
}

impl Program<'_> {
    /// Runs the program. Only an obstacle to the whole run is an error; a program that cannot be started, dies or takes
    /// too long has failed.
    ///
    /// A program that Wine did not let begin is started once more, and the report says so. A begun
    /// program is never repeated.
    pub(super) fn run(&self, command: &mut Command) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut ended = process::capture(command, self.limit);
        if let Some(words) = ended.as_ref().ok().and_then(turned_away_by_wine) {
            outcome.note(format!("repeated: {}, {words}", self.name));
            ended = process::capture(command, self.limit);
        }
        outcome.add(match ended {
            Ok(done) => {
                self.keep(&done.output)?;
                self.judge(&done)
            }
            Err(error) if interrupt::happened() => return Err(error),
            Err(error) => Outcome::failed(Failure::of_error(self.name, &error)),
        });
        for failure in &outcome.failures {
            println!("RED     {}", failure.what);
        }
        Ok(outcome)
    }

    /// Green needs all of it: a good status, a printed result, and no failed test in it.
    fn judge(&self, done: &Finished) -> Outcome {
        let verdict = self.language.read(&done.output);
        let good = done.status.success() && verdict.concluded;
        let mut outcome = Outcome {
            counts: verdict.counts,
            ..Outcome::default()
        };
        for skipped in &verdict.skipped {
            outcome.note(format!("skipped: {skipped} ({})", self.name));
        }
        for (what, number) in &verdict.counted {
            let number = grouped(*number);
            outcome.note(format!("counted: {number} {what} ({})", self.name));
        }
        if good && verdict.counts.failed == 0 {
            self.say_passed(verdict.counts, done.took);
            return outcome;
        }
        if verdict.counts.failed == 0 {
            outcome.counts.failed = 1;
        }
        outcome.failures.push(self.failure(done, &verdict));
        outcome
    }

    fn failure(&self, done: &Finished, verdict: &Verdict) -> Failure {
        let Self { name, language, .. } = self;
        if !verdict.concluded {
            let what = format!("{name}: {}, died before its result", done.status);
            return Failure::new(what, process::tail(&done.output, LAST_WORDS));
        }
        if verdict.counts.failed == 0 {
            let what = format!("{name}: {}, though no test failed", done.status);
            return Failure::new(what, process::tail(&done.output, LAST_WORDS));
        }
        let failed = verdict.failed.join(", ");
        Failure::new(
            format!("{name}: failed {failed}"),
            language.about_failures(&done.output),
        )
    }

    fn say_passed(&self, counts: Counts, took: Duration) {
        let (passed, seconds) = (counts.passed, took.as_secs_f32());
        println!("{passed:>4} passed {seconds:>6.1} s  {}", self.name);
    }

    /// Keeps the whole output for readers who need more than the excerpt.
    fn keep(&self, output: &str) -> Result<()> {
        let file = self.log()?;
        fs::write(&file, output).with_context(|| format!("write {}", file.display()))
    }

    fn log(&self) -> Result<PathBuf> {
        let plain = |c: char| {
            if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        };
        let name: String = self.name.chars().map(plain).collect();
        Ok(cargo::work_dir(&format!("tests/{}", self.step))?.join(format!("{name}.log")))
    }
}

/// The status and output of a program that ended before its first instruction, since Wine's loader lost the connection
/// to Wine's server: it printed nothing else, and has no thread yet (thread 0).
fn turned_away_by_wine(done: &Finished) -> Option<String> {
    let words = done.output.trim_end();
    let turned_away = words.starts_with("wine client error:0: ") && words.lines().count() == 1;
    (turned_away && !done.status.success()).then(|| format!("{}: {words}", done.status))
}

impl Language {
    fn read(self, output: &str) -> Verdict {
        match self {
            Self::Go => Verdict::of_go(output),
            Self::Rust => Verdict::of_rust(output),
        }
    }

    /// The part of a program's output on its failed tests.
    fn about_failures(self, output: &str) -> String {
        match self {
            Self::Go => go_failures(output),
            Self::Rust => from_line(output, "failures:").to_owned(),
        }
    }
}

/// With a comma before every third digit from the end.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

/// The text from the first such line on.
fn from_line<'a>(text: &'a str, line: &str) -> &'a str {
    if text.starts_with(&format!("{line}\n")) {
        return text;
    }
    let found = text.find(&format!("\n{line}\n"));
    found.map_or(text, |at| &text[at + 1..])
}

/// The parts of `go test -v`'s output with a failed test, each from the test's beginning.
fn go_failures(output: &str) -> String {
    const BEGINS: &str = "=== RUN   ";
    let mut parts: Vec<String> = vec![String::new()];
    for line in output.lines() {
        let begins = line.strip_prefix(BEGINS);
        if begins.is_some_and(|name| !name.contains('/')) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.retain(|part| part.contains("--- FAIL: "));
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);
    const RESULT: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured;";

    fn outcome(script: &str, limit: Duration) -> Outcome {
        let program = Program {
            step: "self-test",
            name: "it",
            limit,
            language: Language::Rust,
        };
        let mut command = Command::new("sh");
        program.run(command.args(["-c", script])).unwrap()
    }

    fn only_failure(script: &str) -> Failure {
        let outcome = outcome(script, LIMIT);
        assert_eq!(outcome.counts.failed, 1);
        let [failure] = outcome.failures.try_into().unwrap();
        failure
    }

    #[test]
    fn a_good_program_is_green() {
        let outcome = outcome(&format!("echo '{RESULT}'"), LIMIT);
        assert_eq!(outcome.counts, Counts::passed(2));
        assert!(outcome.failures.is_empty());
    }

    #[test]
    fn what_a_program_counts_is_told_below_the_table() {
        let counts = "echo 'counted: 1000 cases (a)' >&2; echo 'counted: 234 cases (b)' >&2";
        let outcome = outcome(&format!("{counts}; echo '{RESULT}'"), LIMIT);
        assert_eq!(outcome.notes, ["counted: 1,234 cases (it)"]);
        assert_eq!(grouped(1_000_042), "1,000,042");
    }

    #[test]
    fn a_program_that_dies_is_named_with_its_status_and_last_words() {
        let failure = only_failure("echo 'test a ... ok'; echo 'connection reset'; exit 7");
        assert_eq!(failure.what, "it: exit status: 7, died before its result");
        assert_eq!(failure.output, "test a ... ok\nconnection reset");
    }

    #[test]
    fn a_program_that_ends_well_without_a_result_is_red() {
        let failure = only_failure("echo 'test a ... ok'");
        assert_eq!(failure.what, "it: exit status: 0, died before its result");
    }

    #[test]
    fn a_bad_status_after_a_good_result_is_red() {
        let failure = only_failure(&format!("echo '{RESULT}'; exit 3"));
        assert_eq!(failure.what, "it: exit status: 3, though no test failed");
    }

    #[test]
    fn a_program_that_wine_turned_away_is_repeated_once_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let once = dir.path().join("once").display().to_string();
        let error = "wine client error:0: recvmsg: Connection reset by peer";
        let first_time = format!("mkdir {once} 2>/dev/null && echo '{error}' && exit 1");
        let repeated = outcome(&format!("{first_time}; echo '{RESULT}'"), LIMIT);
        assert_eq!(repeated.counts, Counts::passed(2));
        let note = format!("repeated: it, exit status: 1: {error}");
        assert_eq!(repeated.notes, [note]);
        assert!(repeated.failures.is_empty());
        only_failure(&format!("echo '{error}'; exit 1"));
    }

    #[test]
    fn a_program_that_began_is_not_repeated() {
        let error = "wine client error:0: recvmsg: Connection reset by peer";
        let began = format!("echo 'running 3 tests'; echo '{error}'; exit 1");
        let outcome = outcome(&began, LIMIT);
        assert_eq!((outcome.counts.failed, outcome.notes.len()), (1, 0));
    }

    #[test]
    fn a_program_that_does_not_end_is_named() {
        let outcome = outcome("echo going; sleep 60", Duration::from_millis(300));
        let what = &outcome.failures[0].what;
        assert!(
            what.contains("ended after") && what.starts_with("it: "),
            "{what}"
        );
        assert_eq!(outcome.failures[0].output, "going");
    }

    #[test]
    fn a_program_that_cannot_start_is_named() {
        let program = Program {
            step: "self-test",
            name: "it",
            limit: LIMIT,
            language: Language::Go,
        };
        let mut nothing = Command::new("/no/such/program");
        let outcome = program.run(&mut nothing).unwrap();
        assert!(outcome.failures[0].what.contains("/no/such/program"));
    }

    #[test]
    fn of_gos_output_the_failed_tests_are_shown() {
        let output = "\
=== RUN   TestA
--- PASS: TestA (0.00s)
=== RUN   TestB
=== RUN   TestB/sub
    b.go:1: why
--- FAIL: TestB (0.00s)
    --- FAIL: TestB/sub (0.00s)
=== RUN   TestC
--- PASS: TestC (0.00s)
FAIL
";
        let shown = go_failures(output);
        assert!(shown.starts_with("=== RUN   TestB\n"), "{shown}");
        assert!(shown.ends_with("TestB/sub (0.00s)\n"), "{shown}");
    }

    #[test]
    fn of_rusts_output_the_failures_are_shown() {
        let output = "test a ... ok\n\nfailures:\n\n---- b stdout ----\nfailures:\n    b\n";
        assert!(from_line(output, "failures:").starts_with("failures:\n\n---- b"));
        assert_eq!(from_line("nothing", "failures:"), "nothing");
    }
}
