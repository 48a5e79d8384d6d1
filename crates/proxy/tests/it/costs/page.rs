//! What docs/benchmarks.md says about the rows.

use std::collections::BTreeSet;

use super::{Row, rows};

const PAGE: &str = include_str!("../../../../../docs/benchmarks.md");

impl Row<'_> {
    /// The queries and methods of ours and of csi-proxy.
    fn provider_work(&self) -> [[u64; 2]; 2] {
        [self.counts, self.csi_proxy].map(|cell| {
            let mut counts = cell.split(' ').map(|count| count.parse().expect("a count"));
            [(); 2].map(|()| counts.next().expect("two counts"))
        })
    }

    fn exceeds(&self) -> bool {
        let [ours, theirs] = self.provider_work();
        ours[0] > theirs[0] || ours[1] > theirs[1]
    }

    /// As the page has it: the call with its situation, queries and methods.
    fn label(&self) -> [String; 3] {
        let ([ours, theirs], call) = (self.provider_work(), self.call());
        let label = format!("`{call}`, {}", self.situation);
        let both = |kind: usize| format!("{}/{}", ours[kind], theirs[kind]);
        [label.trim_end_matches(", ").to_owned(), both(0), both(1)]
    }
}

#[test]
fn more_work_than_with_csi_proxy_has_its_reason() {
    let (_, table) = PAGE.split_once("| why |").expect("the table of reasons");
    let lines = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let explained: BTreeSet<[String; 3]> = lines.flat_map(explained).collect();
    let exceeding: BTreeSet<_> = rows().filter(Row::exceeds).map(|row| row.label()).collect();
    assert_eq!(explained, exceeding);
}

/// The labels of a line: calls with the same reason share it.
fn explained(line: &'static str) -> Vec<[String; 3]> {
    let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [calls, queries, methods, why] = cells[..] else {
        panic!("{line}");
    };
    assert!(!why.is_empty(), "{line}");
    let calls = calls
        .split("; `")
        .map(|call| format!("`{}", call.trim_start_matches('`')));
    let figures = queries.split("; ").zip(methods.split("; "));
    let labels = calls.zip(figures);
    labels
        .map(|(call, (queries, methods))| [call, queries.to_owned(), methods.to_owned()])
        .collect()
}
