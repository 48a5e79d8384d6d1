//! The parts of a run.

use crate::arguments::Arguments;
use crate::cases::{self, Own};
use crate::experiments::{self, Sight, Trial};
use crate::{CaseResult, Fixture, NodeFixture, seam};

/// One case of a run.
#[derive(Clone, Copy)]
pub struct Planned {
    /// Its unique name.
    pub name: &'static str,
    /// Why it is not run, if it is not.
    pub left_out: Option<&'static str>,
    body: Body,
}

/// The result of a case that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// Its statement is true.
    Holds,
    /// The experiment of this number, and its observations.
    Saw(u8, Vec<Sight>),
}

#[derive(Clone, Copy)]
enum Body {
    Experiment(&'static Trial),
    Node(fn(&dyn NodeFixture) -> CaseResult),
    Seam(fn(&Fixture) -> CaseResult),
}

/// The cases of [`seam`], ours, and the experiments, unless filtered out. The experiments are last, as nothing is
/// tried after a hung one.
#[must_use]
pub fn plan(arguments: &Arguments) -> Vec<Planned> {
    let seam = seam::cases().map(|case| Planned {
        name: case.name,
        left_out: left_out(case.name, arguments),
        body: Body::Seam(case.run),
    });
    let own = cases::all().map(Planned::of);
    let is_wanted = |planned: &Planned| {
        let filters = &arguments.filters;
        filters.is_empty() || filters.iter().any(|filter| planned.name.contains(filter))
    };
    let experiments = experiments::all().map(Planned::experiment);
    seam.chain(own)
        .chain(experiments)
        .filter(is_wanted)
        .collect()
}

impl Planned {
    /// A case of a node's, to be run.
    #[must_use]
    pub fn of(case: &Own) -> Self {
        Self {
            name: case.name,
            left_out: None,
            body: Body::Node(case.run),
        }
    }

    /// An experiment, to be made.
    #[must_use]
    pub fn experiment(trial: &'static Trial) -> Self {
        Self {
            name: trial.name,
            left_out: None,
            body: Body::Experiment(trial),
        }
    }

    /// Tries it on a stand of its own.
    ///
    /// # Errors
    /// It does not hold. An experiment has no such error: its failures are among its observations.
    pub fn try_on(&self, fixture: Box<dyn NodeFixture>) -> Result<Tried, String> {
        let held = match self.body {
            Body::Experiment(trial) => return Ok(Tried::Saw(trial.number, saw(trial, &*fixture))),
            Body::Node(run) => run(&*fixture).map_err(|failure| failure.to_string()),
            Body::Seam(run) => {
                let fixture = Fixture::new(fixture.os().clone(), fixture);
                run(&fixture).map_err(|failure| failure.to_string())
            }
        };
        held.map(|()| Tried::Holds)
    }
}

fn saw(trial: &Trial, fixture: &dyn NodeFixture) -> Vec<Sight> {
    let seen = (trial.run)(fixture);
    seen.unwrap_or_else(|failure| vec![Sight::not_possible(failure)])
}

/// A machine has no iSCSI target of its own.
fn left_out(name: &str, arguments: &Arguments) -> Option<&'static str> {
    let is_iscsi = name.starts_with("iscsi::");
    (is_iscsi && arguments.iscsi_target.is_none())
        .then_some("no target: --iscsi-portal and --iscsi-target name one")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser as _;

    use super::plan;
    use crate::arguments::Arguments;
    use crate::{cases, experiments, seam};

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        let parsed = Arguments::try_parse_from([&["suite"], arguments].concat());
        let planned = plan(&parsed.expect("arguments"));
        planned.iter().map(|planned| planned.name).collect()
    }

    #[test]
    fn every_case_is_in_it_once() {
        let all = names(&[]);
        let unique: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(unique.len(), all.len());
        let seam = seam::cases().map(|case| case.name);
        let own = cases::all().map(|case| case.name);
        let seen = experiments::all().map(|trial| trial.name);
        assert_eq!(unique, seam.chain(own).chain(seen).collect());
    }

    #[test]
    fn filters_choose_by_a_part_of_the_name() {
        let chosen = names(&["smb::", "guard::"]);
        assert!(chosen.iter().any(|name| name.starts_with("smb::")));
        assert!(chosen.iter().any(|name| name.starts_with("guard::")));
        let is_meant = |name: &&str| name.contains("smb::") || name.contains("guard::");
        assert!(chosen.iter().all(is_meant));
        assert!(names(&["no such case"]).is_empty());
    }

    #[test]
    fn without_a_target_the_cases_that_log_in_are_left_out_and_no_others() {
        let left_out = |arguments: &[&str]| -> BTreeSet<&str> {
            let parsed = Arguments::try_parse_from([&["suite"], arguments].concat());
            let planned = plan(&parsed.expect("arguments")).into_iter();
            let out = planned.filter(|planned| planned.left_out.is_some());
            out.map(|planned| planned.name).collect()
        };
        let iscsi = seam::cases().map(|case| case.name);
        let iscsi = iscsi.filter(|name| name.starts_with("iscsi::"));
        assert_eq!(left_out(&[]), iscsi.collect());
        let target = [
            "--iscsi-portal",
            "10.0.0.9",
            "--iscsi-target",
            "iqn.2026-01.com.example:data",
        ];
        assert!(left_out(&target).is_empty());
    }
}
