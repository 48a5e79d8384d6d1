//! The counts of the table are what each call costs on a simulated node.

use std::collections::BTreeSet;

use proxy::catalogue::OPERATIONS;
use wincsi_costs::{ROWS, Row, SHARES, TestNode, rows, sum, with_tables};

const PAGE: &str = include_str!("../../../docs/benchmarks.md");

/// The calls that drivers repeat, for which no provider is queried, whatever csi-proxy does; but of a link to a share,
/// whose server is not asked.
const WITHOUT_PROVIDER: [&str; 6] = [
    "filesystem.IsSymlink",
    "filesystem.PathExists",
    "volume.GetDiskNumberFromVolumeID",
    "volume.GetVolumeIDFromTargetPath",
    "volume.GetVolumeStats",
    "volume.WriteVolumeCache",
];

#[test]
fn each_row_costs_what_the_table_says() {
    let node = TestNode::through(|os| os).expect("a node");
    let wrong: Vec<_> = rows()
        .filter_map(|(call, row)| row.wrong(call, &node))
        .collect();
    assert!(
        wrong.is_empty(),
        "not as in the table:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn each_csi_call_costs_what_the_table_says() {
    let node = TestNode::through(|os| os).expect("a node");
    let all = ROWS.iter().chain(SHARES);
    let wrong: Vec<_> = all.filter_map(|row| row.wrong(&node)).collect();
    assert!(
        wrong.is_empty(),
        "not as in the table:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn what_other_drivers_call_csi_proxy_for_has_rows() {
    for row in ROWS {
        for calls in row.others {
            assert!(sum(calls).is_some(), "{} {calls:?}", row.call);
        }
    }
}

#[test]
fn the_page_is_the_tables() {
    let page = PAGE.replace("\r\n", "\n");
    assert!(
        with_tables(&page).is_some_and(|fresh| fresh == page),
        "docs/benchmarks.md is stale: run `cargo xtask docs`"
    );
}

#[test]
fn every_call_of_the_catalogue_has_a_row() {
    let counted: BTreeSet<_> = rows().map(|(call, _)| call.to_owned()).collect();
    let all: BTreeSet<_> = OPERATIONS.iter().map(ToString::to_string).collect();
    assert_eq!(counted, all);
}

#[test]
fn providers_have_more_work_than_with_csi_proxy_for_a_reason_alone() {
    for (call, row) in rows() {
        assert_eq!(
            row.exceeds(),
            !row.reason.is_empty(),
            "{call} {}",
            row.situation
        );
    }
}

#[test]
fn calls_that_drivers_repeat_query_no_provider() {
    for name in WITHOUT_PROVIDER {
        let mut found = rows().filter(|(call, _)| *call == name).peekable();
        assert!(found.peek().is_some(), "{name} has no row");
        let is_of_share = |row: &Row| row.situation.contains("a link to a share");
        let queries = |row: &Row| u64::from(is_of_share(row));
        assert!(
            found.all(|(_, row)| row.cost[..2] == [queries(row), 0]),
            "{name}"
        );
    }
}

#[test]
fn a_call_costs_the_same_on_a_node_of_many_volumes() {
    let few = TestNode::of_volumes(10).expect("a small node");
    let many = TestNode::of_volumes(1_000).expect("a large node");
    for (name, more_handles) in [
        ("volume.GetVolumeIDFromTargetPath", 0),
        ("volume.GetVolumeStats", 0),
        // One look at each volume: whose it is, only it knows.
        ("volume.ListVolumesOnDisk", 990),
    ] {
        let (_, row) = rows().find(|(call, _)| *call == name).expect("a row");
        let [few, many] = [&few, &many].map(|node| (row.run)(node).expect("a call"));
        let mut expected = few.cost();
        expected[2] += more_handles;
        assert_eq!(many.cost(), expected, "{name}{many}");
        // Not even an operation in place of another of its kind.
        let is_same = few.to_string() == many.to_string();
        assert_eq!(is_same, more_handles == 0, "{name}{few}{many}");
    }
}
