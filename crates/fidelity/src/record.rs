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
    /// An operation did what it is for.
    pub(crate) fn saw_done(&self, operation: SeamOperation) {
        self.record().done.insert(operation);
    }

    /// An operation was called, and did not do what it is for.
    pub(crate) fn saw_failed(&self, operation: SeamOperation) {
        self.record().failed.insert(operation);
    }

    /// What was seen since the last taking.
    #[must_use]
    pub fn take(&self) -> Record {
        mem::take(&mut *self.record())
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a program has executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Operations that did what they are for.
    pub(crate) done: BTreeSet<SeamOperation>,
    /// Operations that were called, and never in a way that counts as done.
    pub(crate) failed: BTreeSet<SeamOperation>,
    /// Cases that the system answers otherwise than they state, and its answer.
    pub(crate) answers: BTreeMap<String, String>,
    /// What experiments saw.
    pub(crate) observations: BTreeSet<Observation>,
}

/// Which cases a run had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cases {
    /// All that there are, so that what it did not execute is not executed.
    All,
    /// Those that were asked for.
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

    /// Adds what a case that holds has executed.
    pub fn add(&mut self, other: Self) {
        self.done.extend(other.done);
        self.failed.extend(other.failed);
    }

    /// Adds what a case has called that does not hold: nothing of it was executed, whatever it answered.
    pub fn add_as_failed(&mut self, other: Self) {
        self.failed.extend(other.done);
        self.failed.extend(other.failed);
    }

    /// Adds a case that is answered otherwise.
    pub fn add_answer(&mut self, case: &str, answer: &str) {
        self.answers.insert(case.to_owned(), answer.to_owned());
    }

    /// Adds what an experiment saw.
    pub fn observe(&mut self, observation: Observation) {
        self.observations.insert(observation);
    }

    /// What is known after a run on a machine: its observations replace those of the same experiments on that
    /// machine, and all others stay. What was executed is replaced only by a run of all cases.
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

    /// What was seen and is no operation that the page has a row for.
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

    /// An answer in a case that does not hold counts for nothing, even if it was no error.
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
