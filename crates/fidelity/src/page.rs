//! `docs/fidelity.md`, and the full report behind it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use os::Facility;

use crate::{Program, Record, SeamOperation, assumptions, coverage, operations, unbacked};

/// A column of the page, from its programs.
struct Column {
    head: &'static str,
    about: &'static str,
    /// The cell's text for each, and its record.
    programs: Vec<(&'static str, Record)>,
}

/// The page, whole.
#[must_use]
pub fn page() -> String {
    let (columns, windows) = (columns(), Program::Windows.record());
    let (rows, _) = rows(&columns);
    let answers = Program::Wine.record().answers.len();
    [
        HEAD.to_owned(),
        summary(&rows, &columns),
        COUNTED.to_owned(),
        by_facility(&rows, &columns),
        only_simulated(&rows, &columns),
        format!("{WINE}{answers}{WINE_CASES}"),
        coverage::summary(),
        assumptions::summary(&windows),
        UNBACKED.to_owned(),
    ]
    .concat()
}

/// Each operation, each of Wine's answers, each assumption, each module of `os-windows`, and each simulated property that
/// no record has.
#[must_use]
pub fn full_report() -> String {
    let columns = columns();
    let (rows, idle) = rows(&columns);
    [
        OPERATIONS.to_owned(),
        table(&rows, &columns),
        unused(&idle),
        ANSWERS.to_owned(),
        answers(&Program::Wine.record()),
        ASSUMPTIONS.to_owned(),
        assumptions::list(),
        coverage::modules(),
        unbacked::section(),
    ]
    .concat()
}

/// Rows of the class table without any query would only hide the rows that count.
fn rows(columns: &[Column]) -> (Vec<SeamOperation>, Vec<SeamOperation>) {
    let is_row = |one: &SeamOperation| {
        !one.is_of_class_table() || columns.iter().any(|column| column.knows(one))
    };
    operations().into_iter().partition(is_row)
}

fn columns() -> Vec<Column> {
    let (suite, node) = ("suite", "node");
    let windows = Program::Windows.record();
    vec![
        Column {
            head: "simulator",
            about: "`os-sim`: suite on Linux and under Wine, node on Linux",
            programs: vec![
                (suite, Program::Simulator.record()),
                (node, Program::SimulatorNode.record()),
            ],
        },
        Column {
            head: "Wine",
            about: "`os-windows` on the Win32, control codes and services of Wine 8",
            programs: vec![(suite, Program::Wine.record())],
        },
        Column {
            head: "Wine, WMI in process",
            about: "`os-windows` to COM objects in the process over the simulated node, under Wine 8",
            programs: vec![
                (suite, Program::InProcess.record()),
                (node, Program::InProcessNode.record()),
            ],
        },
        Column {
            head: "real Windows",
            about: match windows.is_empty() {
                true => "nothing, ever",
                false => {
                    "`windows-suite` in the run on Windows Server that was recorded last, and compared by nothing"
                }
            },
            programs: vec![(suite, windows)],
        },
    ]
}

impl Column {
    fn knows(&self, operation: &SeamOperation) -> bool {
        let knows =
            |record: &Record| record.done.contains(operation) || record.failed.contains(operation);
        self.programs.iter().any(|(_, record)| knows(record))
    }

    fn has_executed(&self, operation: &SeamOperation) -> bool {
        let mut programs = self.programs.iter();
        programs.any(|(_, record)| record.done.contains(operation))
    }

    fn cell(&self, operation: &SeamOperation) -> String {
        let done = self.programs.iter();
        let done = done.filter(|(_, record)| record.done.contains(operation));
        let done: Vec<_> = done.map(|(name, _)| *name).collect();
        match done.is_empty() {
            false => done.join(", "),
            true if self.knows(operation) => "error".to_owned(),
            true => NEVER.to_owned(),
        }
    }
}

const NEVER: &str = "–";

const HEAD: &str = "\
# What has been executed where

<!-- Written by `cargo xtask fidelity` -->

What of wincsi has run on Windows, under Wine or only simulated, and which assumptions nobody has checked.
[windows-suite.md](windows-suite.md) has how to run it on Windows.

| where | what runs | operations executed |
|---|---|---:|
";

const COUNTED: &str = "
An operation of the system counts as executed if it did its work in a case that holds there. An error as the only answer
does not count. \"Suite\" is `os-suite`, \"node\" the calls of csi-proxy's API. Test programs that execute other than
their records in `crates/fidelity/records` are red. `cargo xtask fidelity` writes records and page anew.

```console
$ cargo xtask fidelity --list            # every operation, answer, assumption, module and property behind this page
> wincsi-windows-suite --experiments     # the assumptions, without a checkout
```

";

const WINE: &str = "
## Under Wine
COM objects in the process replace Wine's missing WMI providers for storage, SMB and iSCSI. They do not show that Windows
answers so. Nothing has executed the code that protects and marshals calls between processes. Wine answers ";

const WINE_CASES: &str = " cases of
the suites otherwise than Windows should. The suites assert its answers; nothing in these cases counts.
";

const UNBACKED: &str = "
## Simulated machines
A simulated node can answer as machines of a cloud did (`os_sim::Profile`): Azure (SCSI), EBS, Hyper-V, vSphere. The test
`profiles` of `os-sim` compares each property recorded in `crates/formats/fixtures/field`. The simulator's value of any
other is its own; experiments 14, 18 and 21 on such a machine settle it.
";

const OPERATIONS: &str = "\
# Operations

suite: cases of os-suite executed it. node: the calls of csi-proxy's API executed it, in the situations of crates/costs.
error: it was called, and never did what it is for.

";

const UNUSED: &str =
    "The class table has these operations too, but none of these programs calls them anywhere:";

const ANSWERS: &str = "
# What Wine answers

A case of os-suite, or of os-windows's own suite (drive, wmi), with Wine's answer: the code of a call, or the first
statement that does not hold there. Two queries of Win32_Service at once end the process (Wine 8, fill_service of
wbemprox); the tests of os-windows make one at a time.

";

const ASSUMPTIONS: &str = "
# Assumptions

No source and no public record of a real Windows confirms these sentences. Our code relies on them, or is written for
both answers, or the simulated machines answer so.

";

fn summary(all: &[SeamOperation], columns: &[Column]) -> String {
    let rows = columns.iter().map(|column| {
        let executed = all.iter().filter(|one| column.has_executed(one)).count();
        let (head, about, of) = (column.head, column.about, all.len());
        format!("| {head} | {about} | {executed} of {of} |\n")
    });
    rows.collect()
}

/// How much of each facility ran where.
fn by_facility(all: &[SeamOperation], columns: &[Column]) -> String {
    let heads: String = columns
        .iter()
        .map(|one| format!(" {} |", one.head))
        .collect();
    let lines = "---:|".repeat(columns.len() + 1);
    let mut table = format!("| facility | operations |{heads}\n|---|{lines}\n");
    for facility in Facility::ALL {
        let of_it: Vec<_> = all.iter().filter(|one| one.facility == facility).collect();
        let cells = columns.iter().map(|column| {
            let executed = of_it.iter().filter(|one| column.has_executed(one)).count();
            format!(" {executed} |")
        });
        let cells: String = cells.collect();
        let _ = writeln!(table, "| {facility} | {} |{cells}", of_it.len());
    }
    table
}

fn only_simulated(all: &[SeamOperation], columns: &[Column]) -> String {
    let elsewhere = columns.iter().skip(1);
    let is_elsewhere =
        |one: &SeamOperation| elsewhere.clone().any(|column| column.has_executed(one));
    let names = all.iter().filter(|one| !is_elsewhere(one));
    let names: Vec<_> = names.map(|one| shown(&one.name)).collect();
    format!("\nOnly the simulator has executed {}.\n", names.join(", "))
}

fn table(all: &[SeamOperation], columns: &[Column]) -> String {
    let heads: String = columns
        .iter()
        .map(|one| format!(" {} |", one.head))
        .collect();
    let lines = "---|".repeat(columns.len() + 2);
    let mut table = format!("| facility | operation |{heads}\n|{lines}\n");
    for operation in all {
        let cells = columns.iter();
        let cells: String = cells
            .map(|one| format!(" {} |", one.cell(operation)))
            .collect();
        let SeamOperation { facility, name } = operation;
        let _ = writeln!(table, "| {facility} | {} |{cells}", shown(name));
    }
    table
}

/// An association's two classes stand apart.
fn shown(name: &str) -> String {
    format!("`{}`", name.replace(" by ", "` by `"))
}

fn unused(idle: &[SeamOperation]) -> String {
    let by_facility = |facility: Facility| {
        let asked = idle.iter().filter(|one| !one.is_of_a_definition());
        let names = asked.filter(|one| one.facility == facility);
        let names: Vec<_> = names.map(|one| shown(&one.name)).collect();
        (!names.is_empty()).then(|| format!("- {facility}: {}.\n", names.join(", ")))
    };
    let lines: String = Facility::ALL.into_iter().filter_map(by_facility).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{UNUSED}\n{lines}"),
    }
}

/// The cases of one answer stand together.
fn answers(record: &Record) -> String {
    let mut by_answer: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (case, answer) in &record.answers {
        let sentence = case.replace("::", ": ").replace('_', " ");
        by_answer.entry(answer).or_default().push(sentence);
    }
    let rows = by_answer
        .into_iter()
        .map(|(answer, cases)| format!("- {answer}: {}\n", cases.join("; ")));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{EXPERIMENTS, Experiment};

    const PAGE: &str = include_str!("../../../docs/fidelity.md");

    #[test]
    fn the_page_is_that_of_the_records() {
        let written = PAGE.replace("\r\n", "\n");
        assert!(
            written == page(),
            "docs/fidelity.md is stale: run `cargo xtask fidelity`"
        );
    }

    #[test]
    fn the_report_has_every_operation_answer_and_assumption() {
        let report = full_report();
        // Definitions of uncalled methods are not listed.
        let asked = operations().into_iter();
        for operation in asked.filter(|one| !one.is_of_a_definition()) {
            assert!(report.contains(&shown(&operation.name)), "{operation:?}");
        }
        for answer in Program::Wine.record().answers.values() {
            assert!(report.contains(answer), "{answer}");
        }
        for Experiment { assumption, .. } in EXPERIMENTS {
            assert!(report.contains(assumption), "{assumption}");
        }
    }

    #[test]
    fn an_error_alone_is_no_execution() {
        let operation = operations().into_iter().next().expect("one");
        let mut record = Record::default();
        let column = |record| Column {
            head: "",
            about: "",
            programs: vec![("suite", record)],
        };
        assert_eq!(column(record.clone()).cell(&operation), NEVER);
        record.failed = BTreeSet::from([operation.clone()]);
        let failed = column(record.clone());
        assert_eq!(failed.cell(&operation), "error");
        assert!(!failed.has_executed(&operation));
        record.done = BTreeSet::from([operation.clone()]);
        assert_eq!(column(record).cell(&operation), "suite");
    }
}
