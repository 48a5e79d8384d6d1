use std::process::ExitCode;

use libtest_mimic::Arguments;
use libtest_mimic::Failed;
use libtest_mimic::Trial;
use os::Facility;

use crate::Case;
use crate::Deviation;
use crate::Failure;
use crate::Fixture;
use crate::cases;

/// An implementation of the seam that the suite is run against.
#[derive(Debug, Clone, Copy)]
pub struct Implementation {
    /// The facilities that its fixtures have: a case that needs another one is none of its cases.
    pub facilities: &'static [Facility],
    /// Only the cases that call one of these, where others are run elsewhere; empty: all.
    pub about: &'static [Facility],
    /// Makes a node for one case.
    pub fixture: fn() -> Result<Fixture, String>,
    /// Where it answers otherwise.
    pub deviations: &'static [Deviation],
}

/// Runs every case against the implementation, one test each, by the command line of a Rust test.
pub fn run(implementation: Implementation) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![table_trial(implementation)];
    let ours = cases().filter(|case| implementation.runs(case));
    trials.extend(ours.map(|case| trial(implementation, *case)));
    libtest_mimic::run(&arguments, trials).exit_code()
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

fn trial(implementation: Implementation, case: Case) -> Trial {
    let run = move || -> Result<Result<(), Failure>, Failed> {
        let fixture = (implementation.fixture)()?;
        Ok((case.run)(&fixture))
    };
    match implementation.deviation(&case) {
        Some(row) => Trial::test(case.name, move || Ok(row.confirm(run()?)?)).with_kind(OTHERWISE),
        None => Trial::test(case.name, move || Ok(run()?.map_err(|f| f.to_string())?)),
    }
}

/// How the output marks a case whose answer is in the table: it does not hold there.
const OTHERWISE: &str = "answers otherwise";

/// A row for a case that does not exist asserts nothing.
fn table_trial(implementation: Implementation) -> Trial {
    Trial::test("deviations_name_cases", move || {
        let is_case = |row: &&Deviation| {
            cases().any(|case| case.name == row.case && implementation.runs(case))
        };
        match implementation.deviations.iter().find(|row| !is_case(row)) {
            Some(row) => Err(Failed::from(format!("no such case: {}", row.case))),
            None => Ok(()),
        }
    })
}
