//! Cases and experiments over a whole node, each on a thread and a fixture of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{io, panic, thread};

use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};

use crate::cases::{self, NodeCase};
use crate::experiments::{self, Experiment, Observation, Sight};
use crate::{Case, Fixture, NodeFixture, seam};

/// Makes the fixture of one case, or returns why not.
pub type MakeFixture = Arc<dyn Fn() -> Result<Box<dyn NodeFixture>, String> + Send + Sync>;

/// How cases run on a node.
#[derive(Clone)]
pub struct NodeRun {
    /// The begin of their names.
    pub backend: &'static str,
    pub make: MakeFixture,
    /// The most time for one of them. Nothing is tried after one that takes longer: its thread may still be changing
    /// something.
    pub limit: Duration,
    /// The fixtures' machine, for observations.
    pub machine: String,
    /// The folder of the file for observations.
    pub record: Option<PathBuf>,
    pub is_hung: Arc<AtomicBool>,
}

/// The user's choice, but one after the other: the cases change one machine.
#[must_use]
pub fn one_at_a_time(arguments: &Arguments) -> Arguments {
    Arguments {
        test_threads: Some(1),
        ..arguments.clone()
    }
}

/// Whether a run was good. Nothing passed is not: a filter may fit no case that could run.
///
/// # Errors
/// Why it was not.
pub fn verdict(ended: &Conclusion) -> Result<(), String> {
    match (ended.num_failed, ended.num_passed) {
        (0, 0) => Err("nothing ran".to_owned()),
        (0, _) => Ok(()),
        (failed, _) => Err(format!("{failed} do not hold")),
    }
}

impl NodeRun {
    /// All cases and experiments, in this order, as nothing is tried after a hung one. Cases that log in to an iSCSI
    /// target are ignored without one.
    #[must_use]
    pub fn trials(&self, has_target: bool) -> Vec<Trial> {
        let is_left_out = |case: &Case| case.name.starts_with("iscsi::") && !has_target;
        let seam = seam::cases().map(|case| self.seam(case).with_ignored_flag(is_left_out(case)));
        let node = cases::all().map(|case| self.case(case));
        let experiments = experiments::all().map(|one| self.experiment(one));
        seam.chain(node).chain(experiments).collect()
    }

    fn seam(&self, case: &'static Case) -> Trial {
        self.trial(case.name, move |_, fixture| {
            let fixture = Fixture::new(fixture.os().clone(), fixture);
            (case.run)(&fixture).map_err(|failure| failure.to_string())?;
            Ok(Completion::Completed)
        })
    }

    /// A case about a node's operations.
    #[must_use]
    pub fn case(&self, case: &'static NodeCase) -> Trial {
        self.trial(case.name, move |_, fixture| {
            (case.run)(&*fixture).map_err(|failure| failure.to_string())?;
            Ok(Completion::Completed)
        })
    }

    /// An experiment does not fail: a failure before it saw anything is an observation too. One that was not possible
    /// is ignored, as it shows nothing.
    fn experiment(&self, one: Experiment) -> Trial {
        let name = format!("experiments::{}", one.name);
        self.trial(&name, move |run, fixture| {
            let seen = (one.run)(&*fixture);
            let seen = seen.unwrap_or_else(|failure| vec![Sight::not_possible(failure)]);
            let is_possible = seen.iter().any(Sight::is_possible);
            for sight in seen {
                run.note(sight.observed(one.number, &run.machine))?;
            }
            Ok(match is_possible {
                true => Completion::Completed,
                false => Completion::ignored_with("not possible here"),
            })
        })
    }

    /// Prints an observation, and appends it to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&self, seen: Observation) -> io::Result<()> {
        println!("\n{seen}");
        match &self.record {
            Some(folder) => seen.append_to(folder),
            None => Ok(()),
        }
    }

    fn trial(
        &self,
        name: &str,
        body: impl FnOnce(&Self, Box<dyn NodeFixture>) -> Result<Completion, Failed> + Send + 'static,
    ) -> Trial {
        let (run, within) = (self.clone(), self.clone());
        let work = move || body(&within, (within.make)()?);
        Trial::ignorable_test(format!("{}::{name}", self.backend), move || {
            run.bounded(work)
        })
    }

    /// Works on another thread. That of work without an end is left alone.
    fn bounded(
        &self,
        work: impl FnOnce() -> Result<Completion, Failed> + Send + 'static,
    ) -> Result<Completion, Failed> {
        if self.is_hung.load(Ordering::Relaxed) {
            return Ok(Completion::ignored_with("a case before it did not end"));
        }
        let (sender, receiver) = mpsc::channel();
        // If this fails, the waiter has gone.
        let worker = thread::Builder::new().spawn(move || drop(sender.send(work())))?;
        let ended = receiver.recv_timeout(self.limit);
        if matches!(ended, Err(RecvTimeoutError::Timeout)) {
            self.is_hung.store(true, Ordering::Relaxed);
            return Err(format!("it did not end within {:?}", self.limit).into());
        }
        match worker.join() {
            Ok(()) => ended.unwrap_or_else(|_| Err("it has no result".into())),
            Err(payload) => panic::resume_unwind(payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::time::Duration;
    use std::{fs, thread};

    use clap::Parser as _;
    use libtest_mimic::{Arguments, Completion, Conclusion};

    use super::{NodeRun, one_at_a_time, verdict};
    use crate::experiments::Sight;

    fn run(limit: Duration) -> NodeRun {
        NodeRun {
            backend: "none",
            make: Arc::new(|| Err("no volume".to_owned())),
            limit,
            machine: "a machine".to_owned(),
            record: None,
            is_hung: Arc::default(),
        }
    }

    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn after_a_case_without_an_end_nothing_is_tried() {
        let run = run(Duration::from_millis(1));
        let other = run.clone();
        let hung = run.bounded(|| {
            loop {
                thread::park();
            }
        });
        let hung = format!("{:?}", hung.err().expect("it hangs"));
        assert!(hung.contains("did not end within"), "{hung}");
        let next = other.bounded(|| Ok(Completion::Completed));
        let next = next.expect("it is not tried");
        assert!(matches!(next, Completion::Ignored { reason: Some(_) }));
    }

    #[test]
    #[allow(clippy::panic, reason = "the test is about a panic")]
    fn what_fails_or_panics_costs_itself_alone() {
        let run = run(LONG);
        assert!(run.bounded(|| Err("no volume".into())).is_err());
        let wild = AssertUnwindSafe(|| run.bounded(|| panic!("as told")));
        let payload = catch_unwind(wild).err().expect("it panics");
        assert_eq!(payload.downcast_ref(), Some(&"as told"));
        assert!(run.bounded(|| Ok(Completion::Completed)).is_ok());
    }

    #[test]
    fn a_run_is_good_if_something_passed_and_nothing_failed() {
        let ended = |num_passed, num_failed, num_ignored| {
            let mut ended = libtest_mimic::run(&Arguments::parse_from(["none"]), Vec::new());
            (ended.num_passed, ended.num_failed) = (num_passed, num_failed);
            ended.num_ignored = num_ignored;
            ended
        };
        let is_good = |ended: &Conclusion| verdict(ended).is_ok();
        assert!(is_good(&ended(1, 0, 9)));
        assert!(!is_good(&ended(0, 0, 9)) && !is_good(&ended(9, 1, 0)));
        let threads = ["suite", "--test-threads=8"];
        let told = one_at_a_time(&Arguments::parse_from(threads));
        assert_eq!(told.test_threads, Some(1));
    }

    #[test]
    fn each_trial_has_a_name_and_none_logs_in_without_a_target() {
        let ignored = |has_target| {
            let trials = run(LONG).trials(has_target);
            let names: BTreeSet<_> = trials.iter().map(|trial| trial.name().to_owned()).collect();
            assert_eq!(names.len(), trials.len());
            let ignored = trials.into_iter().filter(|trial| trial.has_ignored_flag());
            ignored.map(|trial| trial.name().to_owned()).collect()
        };
        let (with, without): (Vec<_>, Vec<String>) = (ignored(true), ignored(false));
        assert_eq!(with, Vec::<String>::new());
        assert!(!without.is_empty());
        assert!(without.iter().all(|name| name.starts_with("none::iscsi::")));
    }

    #[test]
    fn what_an_experiment_saw_is_recorded() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = NodeRun {
            record: Some(folder.path().to_owned()),
            ..run(LONG)
        };
        let sights = [
            Sight::of(true, "as\nassumed"),
            Sight::not_possible("no share"),
        ];
        for sight in sights {
            run.note(sight.observed(9, &run.machine)).expect("a line");
        }
        let written = fs::read_to_string(folder.path().join("windows.txt")).expect("the file");
        let settled = "seen: 9 | a machine | settled | as assumed\n";
        let impossible = "seen: 9 | a machine | not possible here | no share\n";
        assert_eq!(written, format!("{settled}{impossible}"));
    }
}
