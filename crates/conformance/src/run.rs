//! Cases and experiments over a whole node, each on a thread and a fixture of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{io, panic, thread};

use libtest_mimic::{Failed, Trial};

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
            Ok((case.run)(&fixture).map_err(|failure| failure.to_string())?)
        })
    }

    /// A case about a node's operations.
    #[must_use]
    pub fn case(&self, case: &'static NodeCase) -> Trial {
        self.trial(case.name, move |_, fixture| {
            Ok((case.run)(&*fixture).map_err(|failure| failure.to_string())?)
        })
    }

    /// An experiment does not fail: a failure before it saw anything is an observation too.
    fn experiment(&self, one: Experiment) -> Trial {
        let name = format!("experiments::{}", one.name);
        self.trial(&name, move |run, fixture| {
            let seen = (one.run)(&*fixture);
            let seen = seen.unwrap_or_else(|failure| vec![Sight::not_possible(failure)]);
            let mut seen = seen.into_iter();
            Ok(seen.try_for_each(|sight| run.note(sight.observed(one.number, &run.machine)))?)
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
        body: impl FnOnce(&Self, Box<dyn NodeFixture>) -> Result<(), Failed> + Send + 'static,
    ) -> Trial {
        let (run, within) = (self.clone(), self.clone());
        let work = move || body(&within, (within.make)()?);
        Trial::test(format!("{}::{name}", self.backend), move || {
            run.bounded(work)
        })
    }

    /// Works on another thread. That of work without an end is left alone.
    fn bounded(
        &self,
        work: impl FnOnce() -> Result<(), Failed> + Send + 'static,
    ) -> Result<(), Failed> {
        if self.is_hung.load(Ordering::Relaxed) {
            return Err("not tried: a case before it did not end".into());
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
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::time::Duration;
    use std::{fs, thread};

    use super::NodeRun;
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
        let text =
            |ended: Result<(), libtest_mimic::Failed>| ended.map_err(|why| format!("{why:?}"));
        let hung = text(hung).expect_err("it hangs");
        assert!(hung.contains("did not end within"), "{hung}");
        let next = text(other.bounded(|| Ok(()))).expect_err("another hangs");
        assert!(next.contains("not tried"), "{next}");
    }

    #[test]
    #[allow(clippy::panic, reason = "the test is about a panic")]
    fn what_fails_or_panics_costs_itself_alone() {
        let run = run(LONG);
        assert!(run.bounded(|| Err("no volume".into())).is_err());
        let wild = AssertUnwindSafe(|| run.bounded(|| panic!("as told")));
        let payload = catch_unwind(wild).expect_err("it panics");
        assert_eq!(payload.downcast_ref(), Some(&"as told"));
        assert!(run.bounded(|| Ok(())).is_ok());
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
