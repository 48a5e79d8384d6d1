//! A step's results, and the red ones.

use std::time::Duration;

use anyhow::Result;

use super::counts::Counts;
use crate::process::{self, interrupt};

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
        const HEAD: usize = 100;
        const TAIL: usize = 100;
        let lines: Vec<&str> = self.output.lines().collect();
        if lines.len() <= HEAD + TAIL {
            return self.output.trim_end().to_owned();
        }
        let head = lines[..HEAD].join("\n");
        let left_out = lines.len() - HEAD - TAIL;
        let tail = process::tail(&self.output, TAIL);
        format!("{head}\n[{left_out} lines left out]\n{tail}")
    }
}

impl Outcome {
    /// A step that did not reach its tests.
    pub(super) fn failed(failure: Failure) -> Self {
        Self {
            counts: Counts::failed(1),
            failures: vec![failure],
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.counts = self.counts + other.counts;
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
            self.add(Self::failed(Failure::new(
                format!("{what}: no test ran"),
                "",
            )));
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

    fn numbered(count: usize) -> String {
        (0..count)
            .map(|number| format!("line {number}\n"))
            .collect()
    }

    fn red() -> Outcome {
        Outcome::failed(Failure::new("it: failed a", "why"))
    }

    fn green() -> Outcome {
        Outcome {
            counts: Counts::passed(2),
            ..Outcome::default()
        }
    }

    /// The outcome of tests with these ends, one run after the other, and the number of runs.
    fn steadied(runs: [fn() -> Outcome; 2]) -> (Outcome, usize) {
        let ran = Cell::new(0);
        let run = || Ok(runs[ran.replace(ran.get() + 1)]());
        (Outcome::steady("it", run).unwrap(), ran.get())
    }

    #[test]
    fn what_is_green_is_not_run_again() {
        let (outcome, runs) = steadied([green, red]);
        assert_eq!((outcome.counts, runs), (Counts::passed(2), 1));
    }

    #[test]
    fn what_is_red_twice_is_red() {
        for second in [red, Outcome::default] {
            let (outcome, runs) = steadied([red, second]);
            assert_eq!((outcome.counts, runs), (Counts::failed(1), 2));
            assert_eq!((outcome.failures.len(), outcome.unsteady.len()), (1, 0));
        }
    }

    #[test]
    fn what_is_green_the_second_time_is_named_as_unsteady() {
        let (outcome, _) = steadied([red, green]);
        assert_eq!(outcome.counts, Counts::passed(2));
        assert!(outcome.failures.is_empty());
        assert_eq!(outcome.unsteady[0].what, "it: failed a");
    }

    #[test]
    fn an_error_is_red_as_a_test_is() {
        let outcome = Outcome::steady("it", || anyhow::bail!("no ready")).unwrap();
        assert_eq!(outcome.failures[0].what, "it: no ready");
    }

    #[test]
    fn an_excerpt_is_bounded_and_keeps_both_ends() {
        let excerpt = Failure::new("", numbered(1000)).excerpt();
        assert!(excerpt.starts_with("line 0\n"), "{excerpt}");
        assert!(excerpt.ends_with("\nline 999"), "{excerpt}");
        assert!(
            excerpt.contains("\n[800 lines left out]\nline 900\n"),
            "{excerpt}"
        );
        assert_eq!(excerpt.lines().count(), 201);
    }

    #[test]
    fn a_short_output_is_shown_whole() {
        let output = numbered(200);
        assert_eq!(Failure::new("", &*output).excerpt(), output.trim_end());
    }

    #[test]
    fn an_errors_first_line_says_what() {
        let failure = Failure::of_error("a", &anyhow::anyhow!("ended after 3 s\nlast words"));
        assert_eq!(failure.what, "a: ended after 3 s");
        assert_eq!(failure.output, "last words");
    }
}
