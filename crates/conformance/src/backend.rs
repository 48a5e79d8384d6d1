use libtest_mimic::{Failed, Trial};
use os::Facility;

use crate::{Case, CaseResult, Fixture, seam};

/// An implementation of the seam, for the cases to run against.
#[derive(Debug, Clone, Copy)]
pub struct Backend {
    /// The begin of its cases' names.
    pub name: &'static str,
    /// Its facilities: a case that needs another one is left out.
    pub facilities: &'static [Facility],
    /// Only the cases that call one of these, if others run elsewhere; empty: all.
    pub about: &'static [Facility],
    /// Makes a node for one case.
    pub fixture: fn() -> Result<Fixture, String>,
    /// Where it answers otherwise.
    pub deviations: &'static [Deviations],
}

/// An answer other than the cases want, as [`Failure::summary`](crate::Failure::summary) has it, and the cases with it.
pub type Deviations = (&'static str, &'static [&'static str]);

impl Backend {
    /// Every case of the seam that it can run, and cases of its own.
    #[must_use]
    pub fn trials(self, own: &'static [Case]) -> Vec<Trial> {
        let cases = seam::cases().chain(own).filter(|case| self.runs(case));
        let cases: Vec<_> = cases.collect();
        let named: Vec<_> = cases.iter().map(|case| case.name).collect();
        let mut trials = vec![self.table_trial(named)];
        trials.extend(cases.into_iter().map(|case| self.trial(case)));
        trials
    }

    fn runs(&self, case: &Case) -> bool {
        let has = |facility| self.facilities.contains(facility);
        let is_about = |facility| self.about.contains(facility);
        let is_wanted = self.about.is_empty() || case.needs.iter().any(is_about);
        is_wanted && case.needs.iter().all(has)
    }

    fn trial(&self, case: &'static Case) -> Trial {
        let make = self.fixture;
        let outcome = move || Ok::<_, Failed>((case.run)(&make()?));
        match self.answer(case) {
            Some(answer) => {
                let confirmed = move || Ok(confirm(answer, outcome()?)?);
                Trial::test(self.name_of(case.name), confirmed).with_kind(OTHERWISE)
            }
            None => Trial::test(self.name_of(case.name), move || {
                Ok(outcome()?.map_err(|failure| failure.to_string())?)
            }),
        }
    }

    fn answer(&self, case: &Case) -> Option<&'static str> {
        let mut rows = self.deviations.iter();
        let row = rows.find(|(_, cases)| cases.contains(&case.name));
        row.map(|(answer, _)| *answer)
    }

    /// A row for a case that does not exist asserts nothing.
    fn table_trial(&self, named: Vec<&'static str>) -> Trial {
        let rows = self.deviations.iter().flat_map(|(_, cases)| *cases);
        Trial::test(self.name_of("deviations_name_cases"), move || {
            match rows.into_iter().find(|case| !named.contains(case)) {
                Some(case) => Err(Failed::from(format!("no such case: {case}"))),
                None => Ok(()),
            }
        })
    }

    fn name_of(&self, case: &str) -> String {
        format!("{}::{case}", self.name)
    }
}

/// The output's mark for a case with an answer in the table: it does not hold there.
const OTHERWISE: &str = "answers otherwise";

/// Any other answer than the table's, even the right one, is an error.
fn confirm(answer: &str, outcome: CaseResult) -> Result<(), String> {
    match outcome {
        Err(failure) if failure.summary() == answer => Ok(()),
        Err(failure) => Err(format!(
            "the table says {answer:?}, but now it is {:?}: {failure}",
            failure.summary()
        )),
        Ok(()) => Err("holds now: take its row out of the table".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::confirm;
    use crate::Failure;

    #[test]
    fn only_the_known_answer_is_confirmed() {
        let answer = "not so: there are links";
        let failed = |text: &str| Err(Failure::Wrong(text.to_owned()));
        assert_eq!(confirm(answer, failed(answer)), Ok(()));
        assert!(confirm(answer, failed("not so: there are files")).is_err());
        assert!(confirm(answer, Ok(())).is_err());
    }
}
