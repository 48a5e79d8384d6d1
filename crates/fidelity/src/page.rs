//! `docs/fidelity.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use os::Facility;

use crate::pure::{self, PURE};
use crate::{Program, Record, SeamOperation, assumptions, coverage, operations, unbacked};

/// What of an operation's column is shown, from the programs that make it up.
struct Column {
    head: &'static str,
    about: &'static str,
    /// What the cell says of each, and its record.
    programs: Vec<(&'static str, Record)>,
}

/// The page, whole.
#[must_use]
pub fn page() -> String {
    let all = operations();
    let columns = columns();
    // What the class table has beyond what anybody asks would only hide the rows that count.
    let is_row = |one: &&SeamOperation| {
        !one.is_of_class_table() || columns.iter().any(|column| column.knows(one))
    };
    let (rows, idle): (Vec<_>, Vec<_>) = all.iter().partition(is_row);
    let mut page = HEAD.to_owned();
    page += &summary(&rows, &columns);
    page += TABLE;
    page += &table(&rows, &columns);
    page += &unused(&idle);
    page += PURE_HEAD;
    page += &pure_table();
    page += WINE;
    page += &answers(&Program::Wine.record());
    page += &assumptions::section(&Program::Windows.record());
    page += &coverage::section();
    page += &unbacked::section();
    page
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

Find out whether a part of wincsi has run on Windows, under Wine or only on the simulated node, and which of its
assumptions about Windows nobody has checked.

`cargo xtask fidelity` writes it from what the tests executed; nobody writes in it by hand. In every run of the tests,
each program named here compares what it executes with its column, and is red if they differ.

An operation counts as executed if it did what it is for, in a case that holds there. An error as the only answer does
not count, nor does anything in a case that Wine answers otherwise than it should.

| where | what runs | operations executed |
|---|---|---:|
";

const TABLE: &str = "
| cell | means |
|---|---|
| `suite` | cases of `os-suite` executed it |
| `node` | the calls of csi-proxy's API executed it, in the situations of [performance.md](performance.md) |
| `error` | it was called, and never did what it is for |
| – | it was not called |
| `yes` under *pure* | a part of it is pure code, which [a table below](#its-pure-code) names |

Wine has no providers, so the objects in the process replace them. Nothing has executed the code that protects and
marshals calls between processes, nor shown that Windows answers so.

";

const UNUSED: &str =
    "The class table has these operations too, but none of these programs calls them anywhere:";

const PURE_HEAD: &str = "
## Its pure code

The tests run on Linux; the table names one of several for each.

| operation | what is pure | tested by |
|---|---|---|
";

const WINE: &str = "
## What Wine does not execute

Each row has cases of `os-suite`, or of `os-windows`'s own suite (drive, wmi), with the answer that Wine gives
instead: the code of a call, or the first statement that does not hold there. The suite asserts that answer, so the row
must go when Wine learns it. Such a case runs too, but nothing in it counts as executed.

One case is not in the table: two queries of `Win32_Service` at once end the process (Wine 8, `fill_service` of
wbemprox). The tests of `os-windows` make one at a time.

| Wine's answer | to |
|---|---|
";

fn summary(all: &[&SeamOperation], columns: &[Column]) -> String {
    let rows = columns.iter().map(|column| {
        let executed = all.iter().filter(|one| column.has_executed(one)).count();
        let (head, about, of) = (column.head, column.about, all.len());
        format!("| {head} | {about} | {executed} of {of} |\n")
    });
    rows.collect()
}

fn table(all: &[&SeamOperation], columns: &[Column]) -> String {
    let heads: String = columns
        .iter()
        .map(|one| format!(" {} |", one.head))
        .collect();
    let lines = "---|".repeat(columns.len() + 3);
    let mut table = format!("| facility | operation | pure |{heads}\n|{lines}\n");
    for operation in all {
        let cells = columns.iter();
        let cells: String = cells
            .map(|one| format!(" {} |", one.cell(operation)))
            .collect();
        let pure = match pure::has_part_in(&operation.name) {
            true => "yes",
            false => NEVER,
        };
        let SeamOperation { facility, name } = operation;
        let _ = writeln!(table, "| {facility} | {} | {pure} |{cells}", shown(name));
    }
    table
}

/// An association's two classes stand apart.
fn shown(name: &str) -> String {
    format!("`{}`", name.replace(" by ", "` by `"))
}

fn unused(idle: &[&SeamOperation]) -> String {
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

fn pure_table() -> String {
    let rows = PURE.iter().map(|pure| {
        let operations: Vec<_> = pure.operations.iter().map(|name| shown(name)).collect();
        let operations = operations.join(", ");
        format!("| {operations} | {} | `{}` |\n", pure.what, pure.test)
    });
    rows.collect()
}

/// The cases of one answer stand together.
fn answers(record: &Record) -> String {
    let mut by_answer: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (case, answer) in &record.answers {
        let sentence = case.replace("::", ": ").replace('_', " ");
        by_answer.entry(answer).or_default().push(sentence);
    }
    let rows = by_answer.into_iter().map(|(answer, cases)| {
        let answer = answer.replace('|', "\\|");
        format!("| {answer} | {} |\n", cases.join("; "))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

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
    fn every_operation_of_the_seam_is_on_the_page() {
        let page = page();
        // What a definition of a method says that nobody calls is not listed.
        let asked = operations().into_iter();
        for operation in asked.filter(|one| !one.is_of_a_definition()) {
            assert!(page.contains(&shown(&operation.name)), "{operation:?}");
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
