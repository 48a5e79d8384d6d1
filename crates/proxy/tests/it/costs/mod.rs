//! What each call costs the node: the operations of the system, counted, beside those of its row in calls.txt.
//!
//! Under Wine each query and method goes to the simulated providers through `os-windows`.

#[cfg_attr(windows, path = "native.rs")]
#[cfg_attr(not(windows), path = "simulated.rs")]
mod backend;
mod fixture;
mod hand;
mod page;

use std::collections::BTreeSet;
use std::{env, fs};

use os_meter::{Counts, Kind};
use wincsi_proxy::catalogue::OPERATIONS;

use self::fixture::CostFixture;

const ROWS: &str = include_str!("calls.txt");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/costs/calls.txt");

const KINDS: [Kind; 5] = [
    Kind::Query,
    Kind::Method,
    Kind::Handle,
    Kind::Call,
    Kind::Wait,
];

/// Drivers repeat these calls: no provider is queried for them, whatever csi-proxy does.
const WITHOUT_PROVIDER: [&str; 6] = [
    "filesystem.IsSymlink",
    "filesystem.PathExists",
    "volume.GetDiskNumberFromVolumeID",
    "volume.GetVolumeIDFromTargetPath",
    "volume.GetVolumeStats",
    "volume.WriteVolumeCache",
];

/// A call in a situation that decides what it has to do.
struct Row<'a> {
    /// The call and its request.
    step: &'a str,
    /// Empty if there is only one.
    situation: &'a str,
    counts: &'a str,
    csi_proxy: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [step, situation, counts, csi_proxy] = cells[..] else {
            return None;
        };
        Some(Self {
            step,
            situation,
            counts,
            csi_proxy,
        })
    }

    fn call(&self) -> &'a str {
        self.step.split(' ').next().expect("a call")
    }

    /// In what a call differs from the row, if it does.
    fn difference(&self, counts: &Counts) -> Option<String> {
        let Self {
            step, situation, ..
        } = self;
        let (is, expected) = (in_cell(counts), self.counts);
        let operations = counts.iter();
        let operations =
            operations.map(|(op, times)| format!("{} {} x{times}", op.name, op.subject));
        let operations = operations.collect::<Vec<_>>().join("; ");
        let text = format!("{step} | {situation}: is {is}, should be {expected}: {operations}");
        (is != expected).then_some(text)
    }
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    let lines = ROWS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Row::parse)
}

fn in_cell(counts: &Counts) -> String {
    KINDS.map(|kind| counts.of(kind).to_string()).join(" ")
}

#[test]
fn each_call_costs_what_its_row_says() {
    let text = ROWS.replace("\r\n", "\n");
    let (first, others) = text.split_once("\n\n").expect("paragraphs");
    let (mut found, mut differences) = (first.to_owned(), Vec::new());
    for paragraph in others.split("\n\n") {
        let mut fixture = CostFixture::after(first);
        let lines = paragraph.lines();
        let lines = lines.map(|line| played(&mut fixture, line, &mut differences));
        found = found + "\n\n" + &lines.collect::<Vec<_>>().join("\n");
    }
    if env::var_os("WINCSI_UPDATE_COUNTS").is_some() {
        fs::write(FILE, found + "\n").expect("the file of counts");
    }
    let differences = differences.join("\n");
    let hint = "with WINCSI_UPDATE_COUNTS=1 the test writes these counts to";
    assert!(differences.is_empty(), "{differences}\n{hint} {FILE}");
}

/// The line as it should be.
fn played(fixture: &mut CostFixture, line: &str, differences: &mut Vec<String>) -> String {
    let Some(row) = Row::parse(line) else {
        fixture.prepare(line);
        return line.to_owned();
    };
    let (answer, counts) = fixture.call(row.step);
    let fails = row.situation.ends_with(", an error");
    assert_eq!(answer.is_err(), fails, "{line}: {answer:?}");
    differences.extend(row.difference(&counts));
    let [old, new] = [row.counts, &in_cell(&counts)].map(|cell| format!("| {cell} |"));
    let text = line.replacen(&old, &new, 1);
    let has_counts = Row::parse(&text).is_some_and(|row| new == format!("| {} |", row.counts));
    assert!(has_counts, "{line}: one blank on each side of a bar");
    text
}

#[test]
fn each_call_of_the_catalogue_has_a_row() {
    let counted: BTreeSet<_> = rows().map(|row| row.call().to_owned()).collect();
    let all: BTreeSet<_> = OPERATIONS.iter().map(ToString::to_string).collect();
    assert_eq!(counted, all);
}

/// Only a link to a share has the mappings queried, as its server is not asked.
#[test]
fn calls_that_drivers_repeat_query_no_provider() {
    for name in WITHOUT_PROVIDER {
        let mut of_call = rows().filter(|row| row.call() == name).peekable();
        assert!(of_call.peek().is_some(), "{name} has no row");
        for row in of_call {
            let is_of_share = row.situation.contains("a link to a share");
            let expected = if is_of_share { "1 0 " } else { "0 0 " };
            assert!(row.counts.starts_with(expected), "{}", row.step);
        }
    }
}

#[test]
fn a_call_costs_the_same_on_a_node_of_many_volumes() {
    let [mut few, mut many] = [10, 1_000].map(CostFixture::of_volumes);
    for (step, more_handles) in [
        (r"volume.GetVolumeIDFromTargetPath target_path=~\mounted", 0),
        ("volume.GetVolumeStats volume_id=$1", 0),
        // One look at each volume: only the volume knows on which disk it is.
        ("volume.ListVolumesOnDisk disk_number=1", 990),
    ] {
        let [few, many] = [&mut few, &mut many].map(|fixture| fixture.call(step).1);
        let total = few.total() + more_handles;
        assert_eq!(many.total(), total, "{step}: {few:?} {many:?}");
        let handles = few.of(Kind::Handle) + more_handles;
        assert_eq!(many.of(Kind::Handle), handles, "{step}: {few:?} {many:?}");
        // Not even an operation in place of another.
        assert_eq!(few == many, more_handles == 0, "{step}: {few:?} {many:?}");
    }
}
