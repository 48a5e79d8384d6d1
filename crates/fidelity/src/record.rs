use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use os::Facility;

use crate::{Observation, SeamOperation, operations};

/// Hears of operations. All clones are the same.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Record>>);

impl Recorder {
    /// An operation succeeded.
    pub(crate) fn saw_done(&self, operation: SeamOperation) {
        self.record().done.insert(operation);
    }

    /// An operation was called and failed.
    pub(crate) fn saw_failed(&self, operation: SeamOperation) {
        self.record().failed.insert(operation);
    }

    /// The record since the last call.
    #[must_use]
    pub fn take(&self) -> Record {
        mem::take(&mut *self.record())
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program's executed operations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Succeeded operations.
    pub(crate) done: BTreeSet<SeamOperation>,
    /// Operations called, but never with success.
    pub(crate) failed: BTreeSet<SeamOperation>,
    /// Cases with another answer from the system, and this answer.
    pub(crate) answers: BTreeMap<String, String>,
    /// The experiments' observations.
    pub(crate) observations: BTreeSet<Observation>,
}

/// The cases of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cases {
    /// All cases, so an operation missing here is not executed.
    All,
    /// The requested ones.
    Chosen,
}

impl Record {
    /// Without the operations of other facilities than these.
    #[must_use]
    pub fn of(mut self, facilities: &[Facility]) -> Self {
        for operations in [&mut self.done, &mut self.failed] {
            operations.retain(|operation| facilities.contains(&operation.facility));
        }
        self
    }

    /// Adds the operations of a case that holds.
    pub fn add(&mut self, other: Self) {
        self.done.extend(other.done);
        self.failed.extend(other.failed);
    }

    /// Adds the calls of a case that does not hold: none counts as executed, whatever it answered.
    pub fn add_as_failed(&mut self, other: Self) {
        self.failed.extend(other.done);
        self.failed.extend(other.failed);
    }

    /// Adds a case with another answer.
    pub fn add_answer(&mut self, case: &str, answer: &str) {
        self.answers.insert(case.to_owned(), answer.to_owned());
    }

    /// Adds an experiment's observation.
    pub fn observe(&mut self, observation: Observation) {
        self.observations.insert(observation);
    }

    /// The record after a run on a machine: its observations replace those of the same experiments on this machine, and
    /// all others stay. Only a run of all cases replaces the executed operations.
    pub(crate) fn after(self, cases: Cases, run: &Self) -> Self {
        let is_of = |one: &Observation, other: &Observation| {
            (one.experiment, &one.machine) == (other.experiment, &other.machine)
        };
        let mut observations = self.observations.clone();
        observations.retain(|old| !run.observations.iter().any(|new| is_of(old, new)));
        observations.extend(run.observations.iter().cloned());
        let executed = match cases {
            Cases::All => run.clone(),
            Cases::Chosen => self,
        };
        Self {
            observations,
            ..executed
        }
    }

    /// Whether nothing was called.
    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.failed.is_empty()
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut record = Self::default();
        let all = operations();
        let find = |name: &str| all.iter().find(|one| one.name == name).cloned();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("done", name)) => record.done.extend(find(name)),
                Some(("failed", name)) => record.failed.extend(find(name)),
                Some(("answer", row)) => {
                    let (case, answer) = row.split_once(" | ").unwrap_or((row, ""));
                    record.add_answer(case, answer);
                }
                Some(("seen", row)) => record.observations.extend(row.parse()),
                _ => {}
            }
        }
        record
    }

    /// One line each, in a fixed order.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut lines = |kind: &str, operations: &mut dyn Iterator<Item = &SeamOperation>| {
            for operation in operations {
                let _ = writeln!(text, "{kind}: {}", operation.name);
            }
        };
        lines("done", &mut self.done.iter());
        lines("failed", &mut self.failed.difference(&self.done));
        for (case, answer) in &self.answers {
            let _ = writeln!(text, "answer: {case} | {answer}");
        }
        for observation in &self.observations {
            let _ = writeln!(text, "seen: {observation}");
        }
        text
    }

    /// Recorded operations without a row on the page.
    pub(crate) fn unknown(&self) -> Vec<&SeamOperation> {
        let all: BTreeSet<_> = operations().into_iter().collect();
        let seen = self.done.union(&self.failed);
        seen.filter(|operation| !all.contains(operation)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn operation(name: &str) -> SeamOperation {
        SeamOperation {
            facility: Facility::Files,
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let recorder = Recorder::default();
        recorder.saw_done(operation("Files::list"));
        recorder.saw_failed(operation("Files::entry"));
        let mut record = recorder.take();
        record.add_answer("files::some", "not so: a | b");
        assert_eq!(Record::parse(&record.text()), record);
        assert_eq!(recorder.take(), Record::default());
    }

    /// An answer in a case that does not hold does not count, even if it was no error.
    #[test]
    fn a_case_that_does_not_hold_has_executed_nothing() {
        let recorder = Recorder::default();
        recorder.saw_done(operation("Files::create_symlink"));
        let mut record = Record::default();
        record.add_as_failed(recorder.take());
        assert_eq!(record.text(), "failed: Files::create_symlink\n");
    }

    #[test]
    fn what_was_done_once_is_not_called_failed() {
        let recorder = Recorder::default();
        recorder.saw_failed(operation("Files::entry"));
        recorder.saw_done(operation("Files::entry"));
        assert_eq!(recorder.take().text(), "done: Files::entry\n");
    }

    #[test]
    fn what_has_no_row_is_told() {
        let recorder = Recorder::default();
        recorder.saw_done(operation("MSFT_Disk.Elsewhere"));
        assert_eq!(recorder.take().unknown().len(), 1);
    }

    fn seen(experiment: u8, machine: &str, seen: &str) -> Observation {
        Observation {
            experiment,
            machine: machine.to_owned(),
            verdict: Verdict::Settled,
            seen: seen.to_owned(),
        }
    }

    fn record(done: &str, observations: &[Observation]) -> Record {
        let recorder = Recorder::default();
        recorder.saw_done(operation(done));
        let mut record = recorder.take();
        record.observations.extend(observations.iter().cloned());
        record
    }

    #[test]
    fn a_run_replaces_its_own_machines_observations_and_keeps_all_others() {
        let old = [
            seen(1, "one", "old"),
            seen(1, "other", "old"),
            seen(2, "one", "of a script"),
        ];
        let new = [seen(1, "one", "new"), seen(1, "one", "another disk")];
        let before = record("Files::list", &old);
        let run = record("Files::entry", &new);
        let after = before.clone().after(Cases::Chosen, &run);
        let kept = [&old[1..], &new].concat();
        assert_eq!(after, record("Files::list", &kept));
        assert_eq!(Record::parse(&after.text()), after);
        let after = before.after(Cases::All, &run);
        assert_eq!(after, record("Files::entry", &kept));
    }
}
