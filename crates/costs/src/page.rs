//! What docs/benchmarks.md has of the costs, and the table of all calls.

use crate::csi::{CsiRow, DRIVERS, ROWS, SHARES, sum};
use crate::{Row, rows};

const BEGIN: &str = "<!-- written by `cargo xtask docs` -->\n";
const END: &str = "<!-- end of what `cargo xtask docs` writes -->\n";

const CALLS: &str = "\
| call | situation | queries | csi-proxy | methods | csi-proxy | handles | calls | waits |
|---|---|---:|---:|---:|---:|---:|---:|---:|
";

const REASONS: &str = "\
| more work than with csi-proxy | queries | methods | why |
|---|---:|---:|---|
";

const CSI: &str = "
What one call to `wincsi node` costs the node, and what other drivers need for the same over csi-proxy's pipes: calls to
csi-proxy/its queries/its methods. Their calls were read in their sources: azuredisk `d983d61`, gce-pd `b560165`, aws-ebs
`429e202`; work in their own process, such as statistics of a path, is not counted. The disk is online, and the node has
two others.

";

/// A page with the tables between the two marks that it has for them; `None` where it has no marks.
#[must_use]
pub fn with_tables(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", tables()))
}

/// Every call in every situation, with all counts.
#[must_use]
pub fn calls() -> String {
    let lines: String = rows().map(|(call, row)| line(call, row)).collect();
    CALLS.to_owned() + &lines
}

fn tables() -> String {
    summary() + REASONS + &reasons() + CSI + &csi()
}

/// How the rows compare with csi-proxy.
fn summary() -> String {
    let count = |is: fn(&Row) -> bool| rows().filter(|(_, row)| is(row)).count();
    format!(
        "Of {} situations, the providers have less work than with csi-proxy in {}, as much in {}, and more in {}:\n\n",
        count(|_| true),
        count(|row| !row.exceeds() && row.cost[..2] != row.csi_proxy),
        count(|row| row.cost[..2] == row.csi_proxy),
        count(Row::exceeds),
    )
}

fn csi() -> String {
    let others: String = DRIVERS.iter().map(|name| format!(" {name} |")).collect();
    let head =
        format!("| call | situation | queries | methods | handles | calls | waits |{others}\n");
    let rule = format!("|---|---|{}\n", "---:|".repeat(5 + DRIVERS.len()));
    let lines: String = ROWS.iter().map(csi_line).collect();
    head + &rule + &lines + &shares()
}

/// Queries and methods alone: no other driver is compared.
fn shares() -> String {
    let cells = SHARES.iter().map(|row| {
        let ([queries, methods, ..], situation) = (row.cost, row.situation);
        let comma = if situation.is_empty() { "" } else { ", " };
        format!("{}{comma}{situation} {queries}/{methods}", row.call)
    });
    format!(
        "\nFolders of a share: {}.\n",
        cells.collect::<Vec<_>>().join("; ")
    )
}

fn csi_line(row: &CsiRow) -> String {
    let cells: String = row.cost.iter().map(|cost| format!(" {cost} |")).collect();
    let others = row.others.iter().filter_map(|calls| sum(calls));
    let others: String = others
        .map(|[calls, queries, methods]| format!(" {calls}/{queries}/{methods} |"))
        .collect();
    let (call, situation) = (row.call, row.situation);
    format!("| {call} | {situation} |{cells}{others}\n")
}

/// Calls with the same reason share a line.
fn reasons() -> String {
    let mut by_reason = Vec::<(&str, Vec<&Row>, Vec<String>)>::new();
    for (call, row) in rows().filter(|(_, row)| row.exceeds()) {
        let comma = if row.situation.is_empty() { "" } else { ", " };
        let shown = format!("`{call}`{comma}{}", row.situation);
        match by_reason.iter_mut().find(|(why, ..)| *why == row.reason) {
            Some((_, rows, calls)) => {
                rows.push(row);
                calls.push(shown);
            }
            None => by_reason.push((row.reason, vec![row], vec![shown])),
        }
    }
    let lines = by_reason.iter().map(|(why, rows, calls)| {
        let beside = |index: usize| -> String {
            let each = rows.iter();
            let each = each.map(|row| format!("{}/{}", row.cost[index], row.csi_proxy[index]));
            each.collect::<Vec<_>>().join("; ")
        };
        let (queries, methods) = (beside(0), beside(1));
        format!("| {} | {queries} | {methods} | {why} |\n", calls.join("; "))
    });
    lines.collect()
}

fn line(call: &str, row: &Row) -> String {
    let [queries, methods, handles, calls, waits] = row.cost;
    let [their_queries, their_methods] = row.csi_proxy;
    let situation = row.situation;
    format!(
        "| {call} | {situation} | {queries} | {their_queries} | {methods} | {their_methods} | \
         {handles} | {calls} | {waits} |\n"
    )
}
