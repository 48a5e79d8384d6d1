//! One test program: run it, and judge it by its status and its words.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::outcome::{Failure, Outcome};
use super::verdict::{Language, Verdict};
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

impl Program<'_> {
    /// Runs the program. Only an obstacle to the whole run is an error; a program that cannot be started, dies or takes
    /// too long has failed.
    pub(super) fn run(&self, command: &mut Command) -> Result<Outcome> {
        let outcome = match process::capture(command, self.limit) {
            Ok(done) => {
                self.keep(&done.output)?;
                self.judge(&done)
            }
            Err(error) if interrupt::happened() => return Err(error),
            Err(error) => Outcome::failed(Failure::of_error(self.name, &error)),
        };
        for failure in &outcome.failures {
            println!("RED     {}", failure.what);
        }
        Ok(outcome)
    }

    /// Green needs all of it: a good status, a printed result, and no failed test in it.
    fn judge(&self, done: &Finished) -> Outcome {
        let (name, verdict) = (self.name, self.language.read(&done.output));
        let mut outcome = Outcome {
            counts: verdict.counts,
            ..Outcome::default()
        };
        for skipped in &verdict.skipped {
            outcome.note(format!("skipped: {skipped} ({name})"));
        }
        for (what, number) in &verdict.counted {
            let number = grouped(*number);
            outcome.note(format!("counted: {number} {what} ({name})"));
        }
        let Some(failure) = self.failure(done, &verdict) else {
            let (passed, seconds) = (verdict.counts.passed, done.took.as_secs_f32());
            println!("{passed:>4} passed {seconds:>6.1} s  {name}");
            return outcome;
        };
        outcome.counts.failed = outcome.counts.failed.max(1);
        outcome.failures.push(failure);
        outcome
    }

    fn failure(&self, done: &Finished, verdict: &Verdict) -> Option<Failure> {
        let Self { name, language, .. } = self;
        if verdict.concluded && verdict.counts.failed > 0 {
            let what = format!("{name}: failed {}", verdict.failed.join(", "));
            return Some(Failure::new(what, language.about_failures(&done.output)));
        }
        let why = match (verdict.concluded, done.status.success()) {
            (true, true) => return None,
            (true, false) => "though no test failed",
            (false, _) => "died before its result",
        };
        let last_words = process::tail(&done.output, LAST_WORDS);
        Some(Failure::new(
            format!("{name}: {}, {why}", done.status),
            last_words,
        ))
    }

    /// Keeps the whole output for readers who need more than the excerpt.
    fn keep(&self, output: &str) -> Result<()> {
        let is_plain = |c: char| c.is_alphanumeric() || c == '.';
        let name = self.name.replace(|c| !is_plain(c), "-");
        let file = cargo::work_dir(&format!("tests/{}", self.step))?.join(format!("{name}.log"));
        fs::write(&file, output).with_context(|| format!("write {}", file.display()))
    }
}

/// With a comma before every third digit from the end.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);
    const RESULT: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured;";

    fn run(program: &str, arguments: &[&str], limit: Duration) -> Outcome {
        let it = Program {
            step: "self-test",
            name: "it",
            limit,
            language: Language::Rust,
        };
        it.run(Command::new(program).args(arguments)).unwrap()
    }

    fn outcome(script: &str) -> Outcome {
        run("sh", &["-c", script], LIMIT)
    }

    fn only_failure(outcome: Outcome) -> Failure {
        assert_eq!(outcome.counts.failed, 1);
        let [failure] = outcome.failures.try_into().unwrap();
        failure
    }

    #[test]
    fn a_good_program_is_green_with_its_counts() {
        let counts = "echo 'counted: 1000 cases (a)' >&2; echo 'counted: 234 cases (b)' >&2";
        let outcome = outcome(&format!("{counts}; echo '{RESULT}'"));
        assert_eq!((outcome.counts.passed, outcome.failures.len()), (2, 0));
        assert_eq!(outcome.notes, ["counted: 1,234 cases (it)"]);
        assert_eq!(grouped(1_000_042), "1,000,042");
    }

    #[test]
    fn a_program_that_dies_is_named_with_its_last_words() {
        let failure = only_failure(outcome("echo 'test a ... ok'; echo 'reset'; exit 7"));
        assert_eq!(failure.what, "it: exit status: 7, died before its result");
        assert_eq!(failure.output, "test a ... ok\nreset");
    }

    #[test]
    fn a_good_status_without_a_result_is_red() {
        let failure = only_failure(outcome("echo 'test a ... ok'"));
        assert_eq!(failure.what, "it: exit status: 0, died before its result");
    }

    #[test]
    fn a_bad_status_after_a_good_result_is_red() {
        let failure = only_failure(outcome(&format!("echo '{RESULT}'; exit 3")));
        assert_eq!(failure.what, "it: exit status: 3, though no test failed");
    }

    #[test]
    fn a_failed_test_is_red_with_a_good_status() {
        let result = RESULT.replace("0 failed", "1 failed");
        let failure = only_failure(outcome(&format!("printf 'failures:\n    a\n\n{result}\n'")));
        assert_eq!(failure.what, "it: failed a");
    }

    #[test]
    fn a_program_that_does_not_end_is_red() {
        let script = "echo going; sleep 60";
        let failure = only_failure(run("sh", &["-c", script], Duration::from_millis(300)));
        let what = &failure.what;
        assert!(
            what.starts_with("it: ") && what.contains("ended after"),
            "{what}"
        );
        assert_eq!(failure.output, "going");
    }

    #[test]
    fn a_program_that_cannot_start_is_red() {
        let failure = only_failure(run("/no/such/program", &[], LIMIT));
        assert!(failure.what.contains("/no/such/program"));
    }
}
