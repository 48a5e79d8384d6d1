//! A step's results, and the red ones.

use std::ops::AddAssign;
use std::time::Duration;

use anyhow::Result;

use crate::process::{self, interrupt};

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// A step's results.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) counts: Counts,
    /// The step's time for compiling.
    pub(super) building: Duration,
    pub(super) failures: Vec<Failure>,
    /// Failures red at first and green in a second run.
    pub(super) unsteady: Vec<Failure>,
    /// Facts beside the counts: tests skipped or left out, programs without a test.
    pub(super) notes: Vec<String>,
}

/// A red result.
#[derive(Debug)]
pub(super) struct Failure {
    /// One line: the program, its end, the failed tests.
    pub(super) what: String,
    /// Details to find the reason.
    pub(super) output: String,
}

impl Failure {
    pub(super) fn new(what: impl Into<String>, output: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            output: output.into(),
        }
    }

    /// An error; its text after the first line is output.
    pub(super) fn of_error(what: &str, error: &anyhow::Error) -> Self {
        let text = format!("{error:#}");
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        Self::new(format!("{what}: {first}"), rest)
    }

    /// The output, cut to leave room for others: the middle goes.
    pub(super) fn excerpt(&self) -> String {
        const END: usize = 100;
        let lines: Vec<&str> = self.output.lines().collect();
        let Some(left_out) = lines.len().checked_sub(2 * END).filter(|more| *more > 0) else {
            return self.output.trim_end().to_owned();
        };
        let (head, tail) = (lines[..END].join("\n"), process::tail(&self.output, END));
        format!("{head}\n[{left_out} lines left out]\n{tail}")
    }
}

impl Outcome {
    pub(super) fn passed(number: u32) -> Self {
        let mut outcome = Self::default();
        outcome.counts.passed = number;
        outcome
    }

    /// A step that did not reach its tests.
    pub(super) fn failed(failure: Failure) -> Self {
        let mut outcome = Self::default();
        outcome.counts.failed = 1;
        outcome.failures.push(failure);
        outcome
    }

    /// What counts as one test.
    pub(super) fn of_check(what: &str, done: Result<()>) -> Self {
        match done {
            Ok(()) => {
                println!("   1 passed           {what}");
                Self::passed(1)
            }
            Err(error) => {
                println!("RED     {what}");
                Self::failed(Failure::of_error(what, &error))
            }
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.counts += other.counts;
        self.building += other.building;
        self.failures.extend(other.failures);
        self.unsteady.extend(other.unsteady);
        self.notes.extend(other.notes);
    }

    /// Runs tests, and runs them once more if they are red. If they are green then, both runs are reported; else the
    /// first counts, and the second changes nothing. Only an interruption is an error.
    pub(super) fn steady(what: &str, run: impl Fn() -> Result<Self>) -> Result<Self> {
        let first = Self::of(what, run())?;
        if first.failures.is_empty() {
            return Ok(first);
        }
        println!("again: {what}");
        let mut second = Self::of(what, run())?;
        if !second.failures.is_empty() || second.is_empty() {
            return Ok(first);
        }
        second.building += first.building;
        second.unsteady.extend(first.failures);
        Ok(second)
    }

    fn of(what: &str, ran: Result<Self>) -> Result<Self> {
        match ran {
            Err(error) if !interrupt::happened() => {
                Ok(Self::failed(Failure::of_error(what, &error)))
            }
            ran => ran,
        }
    }

    /// Whether not one test ran, was skipped or failed.
    pub(super) fn is_empty(&self) -> bool {
        self.counts == Counts::default()
    }

    /// Makes an outcome without a test a failure.
    pub(super) fn not_empty(mut self, what: &str) -> Self {
        if self.is_empty() {
            let failure = Failure::new(format!("{what}: no test ran"), "");
            self.add(Self::failed(failure));
        }
        self
    }

    /// Adds a failure if a side task of the tests failed.
    pub(super) fn check(&mut self, what: &str, done: Result<()>) {
        if let Err(error) = done {
            self.add(Self::failed(Failure::of_error(what, &error)));
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn red() -> Outcome {
        Outcome::failed(Failure::new("it: failed a", "why"))
    }

    /// The outcome of tests with these ends, one run after the other, and the number of runs.
    fn steadied(runs: [fn() -> Outcome; 2]) -> (Outcome, usize) {
        let ran = Cell::new(0);
        let run = || Ok(runs[ran.replace(ran.get() + 1)]());
        (Outcome::steady("it", run).unwrap(), ran.get())
    }

    #[test]
    fn what_is_green_is_not_run_again() {
        let (outcome, runs) = steadied([|| Outcome::passed(2), red]);
        assert_eq!((outcome.counts.passed, runs), (2, 1));
    }

    #[test]
    fn what_is_red_twice_is_red() {
        for second in [red, Outcome::default] {
            let (outcome, runs) = steadied([red, second]);
            assert_eq!((outcome.counts.failed, runs), (1, 2));
            assert_eq!((outcome.failures.len(), outcome.unsteady.len()), (1, 0));
        }
    }

    #[test]
    fn what_is_green_the_second_time_is_named_as_unsteady() {
        let (outcome, _) = steadied([red, || Outcome::passed(2)]);
        assert_eq!((outcome.counts.passed, outcome.counts.failed), (2, 0));
        assert!(outcome.failures.is_empty());
        assert_eq!(outcome.unsteady[0].what, "it: failed a");
    }

    #[test]
    fn an_error_is_red_as_a_test_is() {
        let error = || anyhow::bail!("no ready\nlast words");
        let outcome = Outcome::steady("it", error).unwrap();
        assert_eq!(outcome.failures[0].what, "it: no ready");
        assert_eq!(outcome.failures[0].output, "last words");
    }

    #[test]
    fn an_excerpt_is_bounded_and_keeps_both_ends() {
        let numbered = |count: usize| -> String {
            let lines = (0..count).map(|number| format!("line {number}\n"));
            lines.collect()
        };
        let excerpt = Failure::new("", numbered(1000)).excerpt();
        let middle = "\nline 99\n[800 lines left out]\nline 900\n";
        assert!(excerpt.contains(middle), "{excerpt}");
        assert_eq!(excerpt.lines().count(), 201);
        let short = Failure::new("", numbered(200)).excerpt();
        assert_eq!(short, numbered(200).trim_end());
    }
}
