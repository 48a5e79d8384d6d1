//! Our code's assumptions on Windows, and the ways to settle them: the page's section, and the list by number.

use std::collections::BTreeSet;

use crate::experiments::{EXPERIMENTS, Experiment};
use crate::{Observation, Program, Record};

/// The assumptions' topics, each in one row.
const TOPICS: &[(&str, &[u8])] = &[
    (
        "identity and place of disks",
        &[10, 18, 22, 23, 26, 28, 29, 57],
    ),
    ("layout of disks, dynamic disks", &[1, 25, 33, 34]),
    (
        "offline, read-only and write-protected disks",
        &[5, 7, 24, 37, 38, 44, 45, 46, 55, 58],
    ),
    ("formats and growth", &[8, 11, 12, 27, 30, 49]),
    ("codes of WMI methods", &[6, 15, 16, 17]),
    ("mappings of shares", &[3, 13, 14, 39, 47, 59, 60]),
    (
        "folders, links and mounted folders",
        &[4, 9, 19, 35, 36, 50, 56],
    ),
    ("page files", &[2]),
    (
        "iSCSI sessions; properties of volumes, initiator and firmware",
        &[21, 32],
    ),
    ("pipes and Unix sockets", &[20, 41, 42, 43, 52, 53, 54]),
    ("pods of the driver", &[48, 51, 61]),
    ("durations", &[31]),
];

/// The page's section.
pub(crate) fn summary(seen: &Record) -> String {
    let observed: BTreeSet<_> = seen.observations.iter().map(|one| one.experiment).collect();
    let mut text = format!(
        "
## Assumptions about Windows
Our code makes {} assumptions that no source and no public record of a real Windows confirms. People have observed {}
of them. [experiments.rs](../crates/fidelity/src/experiments.rs) has each, what rests on it and how to observe it.

| about | assumptions |
|---|---|
",
        EXPERIMENTS.len(),
        observed.len(),
    );
    for (topic, numbers) in TOPICS {
        text += &format!(
            "| {topic} | {} |\n",
            joined(numbers.iter().map(u8::to_string))
        );
    }
    text += &format!(
        "
`wincsi-windows-suite` observes {} of them by itself, its scripts {}, and a person {}.
",
        count(|one| one.case.is_some()),
        count(|one| !one.scripts.is_empty()),
        count(|one| one.by_hand.is_some()),
    );
    text
}

fn count(is_one: fn(&Experiment) -> bool) -> usize {
    EXPERIMENTS.iter().filter(|one| is_one(one)).count()
}

/// Each assumption by its number, with the record of real Windows.
#[must_use]
pub fn list() -> String {
    listed(&Program::Windows.record())
}

fn listed(seen: &Record) -> String {
    EXPERIMENTS.iter().map(|one| entry(one, seen)).collect()
}

fn entry(one: &Experiment, seen: &Record) -> String {
    let Experiment {
        number,
        assumption,
        unrecorded,
        ..
    } = one;
    let (rests, by, seen) = (rests(one), observed_by(one), outcomes(one, seen));
    format!(
        "{number}. {assumption}\n   rests on it: {rests}\n   not on record: {unrecorded}\n   \
         observed by: {by}\n   seen: {seen}\n"
    )
}

fn rests(one: &Experiment) -> String {
    let rows = one
        .schema
        .iter()
        .map(|row| match row.strip_suffix(" codes") {
            Some(class) => format!("codes of {class}"),
            None => format!("row {row}"),
        });
    let operations = one.operations.iter().map(|name| (*name).to_owned());
    joined(operations.chain(rows))
}

fn observed_by(one: &Experiment) -> String {
    let case = one.case.map(str::to_owned);
    let scripts = one.scripts.iter().map(|script| (*script).to_owned());
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
    fn each_assumption_has_one_topic() {
        let mut numbers: Vec<_> = TOPICS.iter().flat_map(|(_, numbers)| *numbers).collect();
        numbers.sort();
        let all: Vec<_> = EXPERIMENTS.iter().map(|one| &one.number).collect();
        assert_eq!(numbers, all);
    }

    #[test]
    fn an_observation_stands_in_its_experiments_entry() {
        let mut record = Record::default();
        for seen in ["41003", "0"] {
            record.observe(Observation {
                experiment: 5,
                machine: "Windows 10.0.20348".to_owned(),
                verdict: Verdict::Contradicted,
                seen: seen.to_owned(),
            });
        }
        let list = listed(&record);
        let seen = |number: &str| {
            let mut lines = list.lines().skip_while(|line| !line.starts_with(number));
            lines.find_map(|line| line.strip_prefix("   seen: "))
        };
        assert_eq!(seen("5. "), Some("contradicted on Windows 10.0.20348"));
        assert_eq!(seen("1. "), Some("–"));
        let summary = summary(&record);
        assert!(
            summary.contains(
                "have observed 1
of them"
            ),
            "{summary}"
        );
    }
}
