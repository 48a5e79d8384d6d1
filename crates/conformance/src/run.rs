//! Running a plan: one case after the other, each on a thread and a stand of its own.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use crate::NodeFixture;
use crate::experiments::{Observation, Sight, Verdict};
use crate::plan::{Planned, Tried};

/// Makes the fixture of one case, or returns why not.
pub type MakeFixture = Arc<dyn Fn() -> Result<Box<dyn NodeFixture>, String> + Send + Sync>;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It is an experiment, and saw this.
    Saw(Vec<Observation>),
    /// It does not hold, or its stand could not be made, or it panicked.
    Failed(String),
    /// It did not end in its time; nothing is tried after it.
    Hung,
    /// It was not run.
    NotRun(String),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub passed: usize,
    /// Cases that do not hold, and one that did not end.
    pub failed: usize,
    /// Cases not run (without a result), and experiments not possible here.
    pub not_run: usize,
    /// Experiments that saw our code's assumption.
    pub settled: usize,
    /// Experiments that saw something else.
    pub contradicted: usize,
    /// Whether a case did not end: its thread may still be changing something.
    pub is_hung: bool,
}

/// How a plan is run.
pub struct Run {
    /// Makes the stand of each case.
    pub make: MakeFixture,
    /// The most time for one case.
    pub limit: Duration,
    /// The folder of the file for observations.
    pub record: Option<PathBuf>,
    /// The fixtures' machine, for observations.
    pub machine: String,
}

/// Runs the plan and writes a line for each case and each observation, then the counts.
///
/// # Errors
/// The lines cannot be written.
pub fn run(plan: &[Planned], run: &Run, out: &mut dyn Write) -> io::Result<Summary> {
    let mut summary = Summary::default();
    for planned in plan {
        let started = Instant::now();
        let outcome = summary.outcome(planned, run);
        summary.count(&outcome);
        let line = Line {
            name: planned.name,
            outcome: &outcome,
            took: started.elapsed(),
        };
        writeln!(out, "{line}")?;
        for observation in outcome.observations() {
            writeln!(out, "{observation}")?;
            if let Some(folder) = &run.record {
                observation.append_to(folder)?;
            }
        }
        out.flush()?;
    }
    writeln!(out, "{summary}")?;
    Ok(summary)
}

impl Summary {
    /// Whether all tried cases hold. An experiment's observation makes nothing bad.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.passed + self.settled + self.contradicted > 0
    }

    fn outcome(&self, planned: &Planned, run: &Run) -> Outcome {
        match planned.left_out {
            _ if self.is_hung => Outcome::NotRun("a case before it did not end".to_owned()),
            Some(reason) => Outcome::NotRun(reason.to_owned()),
            None => attempt(*planned, run),
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Saw(seen) => self.count_seen(seen),
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Hung => {
                self.failed += 1;
                self.is_hung = true;
            }
            Outcome::NotRun(_) => self.not_run += 1,
        }
    }

    /// One contradiction decides an experiment's count.
    fn count_seen(&mut self, seen: &[Observation]) {
        let has = |verdict| seen.iter().any(|one| one.verdict == verdict);
        match () {
            () if has(Verdict::Contradicted) => self.contradicted += 1,
            () if has(Verdict::Settled) => self.settled += 1,
            () => self.not_run += 1,
        }
    }
}

impl Outcome {
    fn observations(&self) -> &[Observation] {
        match self {
            Self::Saw(seen) => seen,
            _ => &[],
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            not_run,
            settled,
            contradicted,
            ..
        } = self;
        write!(
            f,
            "{passed} passed, {failed} failed, {not_run} not run; \
             assumptions: {settled} settled, {contradicted} contradicted"
        )
    }
}

/// Runs one case; the thread of an endless one is left alone.
fn attempt(planned: Planned, run: &Run) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let make = Arc::clone(&run.make);
    let thread = thread::Builder::new().name(planned.name.to_owned());
    let spawned = thread.spawn(move || {
        let tried = panic::catch_unwind(AssertUnwindSafe(|| planned.try_on(make()?)));
        drop(make);
        // If this fails, the waiter has gone.
        let _ = sender.send(tried.unwrap_or_else(|payload| Err(panic_text(&*payload))));
    });
    let Ok(handle) = spawned else {
        return Outcome::Failed("no thread could be started".to_owned());
    };
    match receiver.recv_timeout(run.limit) {
        Ok(ended) => {
            // It has sent its last word, so this waits for nothing.
            let _ = handle.join();
            ended.map_or_else(Outcome::Failed, |tried| tried.outcome(&run.machine))
        }
        Err(_) => Outcome::Hung,
    }
}

impl Tried {
    fn outcome(self, machine: &str) -> Outcome {
        match self {
            Self::Holds => Outcome::Passed,
            Self::Saw(number, sights) => {
                let sights = sights.into_iter();
                Outcome::Saw(
                    sights
                        .map(|sight| sight.observed(number, machine))
                        .collect(),
                )
            }
        }
    }
}

impl Sight {
    /// As a line of the record has it.
    #[must_use]
    pub fn observed(self, experiment: u8, machine: &str) -> Observation {
        Observation {
            experiment,
            machine: machine.to_owned(),
            verdict: self.verdict,
            seen: self.seen,
        }
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.unwrap_or_default())
}

struct Line<'a> {
    name: &'a str,
    outcome: &'a Outcome,
    took: Duration,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, took) = (self.name, self.took.as_millis());
        match self.outcome {
            Outcome::Passed => write!(f, "ok       {name} ({took} ms)"),
            Outcome::Saw(_) => write!(f, "made     {name} ({took} ms)"),
            Outcome::Failed(why) => write!(f, "FAILED   {name} ({took} ms): {}", one_line(why)),
            Outcome::Hung => write!(f, "FAILED   {name}: did not end within {took} ms"),
            Outcome::NotRun(why) => write!(f, "not run  {name}: {why}"),
        }
    }
}

/// A report has a line for each case and no more.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Line, Outcome, Summary};
    use crate::experiments::{Observation, Verdict};

    #[test]
    fn what_was_not_run_makes_nothing_good() {
        let mut summary = Summary::default();
        summary.count(&Outcome::NotRun("no target".to_owned()));
        assert!(!summary.is_good());
        summary.count(&Outcome::Passed);
        assert!(summary.is_good());
        summary.count(&Outcome::Failed("no".to_owned()));
        assert!(!summary.is_good());
        let counts = "1 passed, 1 failed, 1 not run; assumptions: 0 settled, 0 contradicted";
        assert_eq!(summary.to_string(), counts);
    }

    #[test]
    fn a_contradiction_is_counted_and_makes_nothing_bad() {
        let saw = |verdicts: &[Verdict]| {
            let seen = verdicts.iter().map(|&verdict| Observation {
                experiment: 1,
                machine: String::new(),
                verdict,
                seen: String::new(),
            });
            Outcome::Saw(seen.collect())
        };
        let mut summary = Summary::default();
        summary.count(&saw(&[Verdict::NotPossible]));
        assert!(!summary.is_good());
        summary.count(&saw(&[Verdict::Settled, Verdict::Contradicted]));
        summary.count(&saw(&[Verdict::NotPossible, Verdict::Settled]));
        assert!(summary.is_good());
        let counts = "0 passed, 0 failed, 1 not run; assumptions: 1 settled, 1 contradicted";
        assert_eq!(summary.to_string(), counts);
    }

    #[test]
    fn a_case_is_one_line() {
        let outcome = Outcome::Failed("two\r\nlines".to_owned());
        let line = Line {
            name: "a::b",
            outcome: &outcome,
            took: Duration::from_millis(7),
        };
        assert_eq!(line.to_string(), "FAILED   a::b (7 ms): two lines");
    }
}
