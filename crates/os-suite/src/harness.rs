use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use os::Facility;

use crate::{Case, Deviation, Fixture, cases};

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

/// The cases of an implementation.
struct Suite {
    implementation: Implementation,
    cases: Arc<[Case]>,
}

impl Suite {
    fn of(implementation: Implementation, own: &'static [Case]) -> Self {
        let cases = cases().chain(own).copied();
        Self {
            implementation,
            cases: cases.filter(|case| implementation.runs(case)).collect(),
        }
    }

    fn trials(&self) -> Vec<Trial> {
        let mut trials = vec![self.table_trial()];
        trials.extend(self.cases.iter().map(|case| self.trial(*case)));
        trials
    }

    fn trial(&self, case: Case) -> Trial {
        let make = self.implementation.fixture;
        let outcome = move || Ok::<_, Failed>((case.run)(&make()?));
        match self.implementation.deviation(&case) {
            Some(row) => {
                Trial::test(case.name, move || Ok(row.confirm(outcome()?)?)).with_kind(OTHERWISE)
            }
            None => Trial::test(case.name, move || {
                Ok(outcome()?.map_err(|failure| failure.to_string())?)
            }),
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
