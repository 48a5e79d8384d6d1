//! The page's section on what our code assumes of Windows, and what would settle it.

use std::collections::BTreeSet;

use crate::experiments::{EXPERIMENTS, Experiment};
use crate::{Observation, Record};

const HEAD: &str = "
## What no record backs, and the experiment that settles it

No source and no public record of a real Windows confirms these sentences. Our code relies on them, or is written for both
answers, or the simulated machines answer so. `wincsi-windows-suite` observes what it can by itself, the files in
`crates/windows-suite/scripts` observe more ([windows-suite.md](windows-suite.md)), and a person observes the rest by
hand. All observations go into one file, `windows.txt` in `crates/fidelity/records`; the last column has the verdicts.
Each row of `os::schema` whose source is `Unverified` has its experiment here, and a test checks that.

| | assumed | rests on it | not on record | observed by | seen |
|---:|---|---|---|---|---|
";

/// The section, with what the record of real Windows has seen.
pub(crate) fn section(seen: &Record) -> String {
    let rows = EXPERIMENTS.iter().map(|one| row(one, seen));
    HEAD.to_owned() + &rows.collect::<String>()
}

fn row(one: &Experiment, seen: &Record) -> String {
    let Experiment {
        number,
        assumption,
        unrecorded,
        ..
    } = one;
    let (rests, by, seen) = (rests(one), observed_by(one), outcomes(one, seen));
    format!("| {number} | {assumption} | {rests} | {unrecorded} | {by} | {seen} |\n")
}

fn rests(one: &Experiment) -> String {
    let rows = one
        .schema
        .iter()
        .map(|row| match row.strip_suffix(" codes") {
            Some(class) => format!("codes of `{class}`"),
            None => format!("row `{row}`"),
        });
    let operations = one.operations.iter().map(|name| format!("`{name}`"));
    joined(operations.chain(rows))
}

fn observed_by(one: &Experiment) -> String {
    let case = one.case.map(|case| format!("`{case}`"));
    let scripts = one.scripts.iter().map(|script| format!("`{script}`"));
    let by_hand = one.by_hand.map(|how| format!("by hand: {how}"));
    joined(case.into_iter().chain(scripts).chain(by_hand))
}

fn outcomes(one: &Experiment, record: &Record) -> String {
    let seen = record.observations.iter();
    let seen = seen.filter(|observation| observation.experiment == one.number);
    let verdicts = seen.map(|observation| {
        let Observation {
            machine, verdict, ..
        } = observation;
        format!("{} on {machine}", verdict.word())
    });
    joined(verdicts.collect::<BTreeSet<_>>().into_iter())
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.collect();
    match parts.is_empty() {
        true => "–".to_owned(),
        false => parts.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    #[test]
    fn an_observation_stands_in_its_experiments_row() {
        let mut record = Record::default();
        for seen in ["41003", "0"] {
            record.observe(Observation {
                experiment: 5,
                machine: "Windows 10.0.20348".to_owned(),
                verdict: Verdict::Contradicted,
                seen: seen.to_owned(),
            });
        }
        let section = section(&record);
        let row = |number: &str| {
            let begins = format!("| {number} | ");
            section.lines().find(|line| line.starts_with(&begins))
        };
        let seen = "| contradicted on Windows 10.0.20348 |";
        assert!(row("5").is_some_and(|row| row.ends_with(seen)), "{section}");
        assert!(
            row("1").is_some_and(|row| row.ends_with("| – |")),
            "{section}"
        );
    }
}
