use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use fidelity::{Program, Record, Recorder};
use libtest_mimic::{Arguments, Failed, Trial};
use os::Facility;

use crate::{Case, Deviation, Fixture, SuiteFailure, cases};

/// An implementation of the seam for the suite to run against.
#[derive(Debug, Clone, Copy)]
pub struct Implementation {
    /// Its fixtures' facilities: a case that needs another one is left out.
    pub facilities: &'static [Facility],
    /// Only the cases that call one of these, if others run elsewhere; empty: all.
    pub about: &'static [Facility],
    /// Makes a node for one case.
    pub fixture: fn() -> Result<Fixture, String>,
    /// Where it answers otherwise.
    pub deviations: &'static [Deviation],
}

/// Runs every case against the implementation, one test each, by the command line of a Rust test.
pub fn run(implementation: Implementation) -> ExitCode {
    run_with(implementation, &[])
}

/// As [`run`], with cases of the implementation's own besides.
pub fn run_with(implementation: Implementation, own: &'static [Case]) -> ExitCode {
    let arguments = Arguments::from_args();
    let suite = Suite::of(implementation, own);
    libtest_mimic::run(&arguments, suite.trials()).exit_code()
}

/// As [`run_with`]; when all are run and green, one more test compares the executed operations with the program's
/// record.
pub fn run_recorded(
    implementation: Implementation,
    program: Program,
    own: &'static [Case],
) -> ExitCode {
    let arguments = Arguments::from_args();
    let suite = Suite::of(implementation, own);
    let conclusion = libtest_mimic::run(&arguments, suite.trials());
    if conclusion.has_failed() || !is_whole(&arguments) {
        return conclusion.exit_code();
    }
    let record = suite.record();
    let settle = move || Ok(fidelity::settle(program, &record)?);
    let trial = Trial::test("what_is_executed_is_what_is_recorded", settle);
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

/// Whether all tests are to run.
fn is_whole(arguments: &Arguments) -> bool {
    let is_all = arguments.filter.is_none() && arguments.skip.is_empty();
    is_all && !arguments.list && !arguments.ignored && !arguments.bench
}

impl Implementation {
    fn runs(&self, case: &Case) -> bool {
        let has = |facility| self.facilities.contains(facility);
        let is_about = |facility| self.about.contains(facility);
        let is_wanted = self.about.is_empty() || case.needs.iter().any(is_about);
        is_wanted && case.needs.iter().all(has)
    }

    fn deviation(&self, case: &Case) -> Option<&'static Deviation> {
        let is_its = |row: &&Deviation| row.case == case.name;
        self.deviations.iter().find(is_its)
    }
}

/// The cases of an implementation, and their results.
#[derive(Clone)]
struct Suite {
    implementation: Implementation,
    cases: Arc<[Case]>,
    record: Arc<Mutex<Record>>,
}

impl Suite {
    fn of(implementation: Implementation, own: &'static [Case]) -> Self {
        let cases = cases().chain(own).copied();
        Self {
            implementation,
            cases: cases.filter(|case| implementation.runs(case)).collect(),
            record: Arc::default(),
        }
    }

    fn trials(&self) -> Vec<Trial> {
        let mut trials = vec![self.table_trial()];
        trials.extend(self.cases.iter().map(|case| self.trial(*case)));
        trials
    }

    fn trial(&self, case: Case) -> Trial {
        let suite = self.clone();
        match self.implementation.deviation(&case) {
            Some(row) => {
                Trial::test(case.name, move || suite.confirm(&case, row)).with_kind(OTHERWISE)
            }
            None => Trial::test(case.name, move || suite.hold(&case)),
        }
    }

    fn hold(&self, case: &Case) -> Result<(), Failed> {
        let (outcome, record) = self.try_case(case)?;
        outcome.map_err(|failure| failure.to_string())?;
        self.keep(|whole| whole.add(record));
        Ok(())
    }

    fn confirm(&self, case: &Case, row: &Deviation) -> Result<(), Failed> {
        let (outcome, record) = self.try_case(case)?;
        row.confirm(outcome)?;
        self.keep(|whole| {
            whole.add_as_failed(record);
            whole.add_answer(row.case, row.answer);
        });
        Ok(())
    }

    fn try_case(&self, case: &Case) -> Result<(Result<(), SuiteFailure>, Record), Failed> {
        let recorder = Recorder::default();
        let fixture = (self.implementation.fixture)()?.watched(&recorder);
        let outcome = (case.run)(&fixture);
        Ok((outcome, recorder.take()))
    }

    fn keep(&self, add: impl FnOnce(&mut Record)) {
        add(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The record of all cases run. Facilities outside the suite's subject are left out.
    fn record(&self) -> Record {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        match self.implementation.about {
            [] => record.clone(),
            about => record.clone().of(about),
        }
    }

    /// A row for a case that does not exist asserts nothing.
    fn table_trial(&self) -> Trial {
        let (cases, rows) = (Arc::clone(&self.cases), self.implementation.deviations);
        Trial::test("deviations_name_cases", move || {
            let is_case = |row: &&Deviation| cases.iter().any(|case| case.name == row.case);
            match rows.iter().find(|row| !is_case(row)) {
                Some(row) => Err(Failed::from(format!("no such case: {}", row.case))),
                None => Ok(()),
            }
        })
    }
}

/// The output's mark for a case with an answer in the table: it does not hold there.
const OTHERWISE: &str = "answers otherwise";
