//! docs/performance.md.

use crate::csi::{CsiRow, DRIVERS, ROWS, sum};
use crate::{Row, rows};

const HEAD: &str = "\
# What each call costs the node

Find out what a call costs the node: how many queries, methods and handles of Windows it needs, beside csi-proxy's
numbers. [benchmarks.md](benchmarks.md) has how fast calls over a pipe are.

`cargo xtask docs` writes it from the table in `crates/costs`. That crate's tests run every row through the handlers that
serve the pipes, and compare the counts: on a simulated node, and under Wine through `os-windows`' own WMI code, to COM
objects in the process.

| column | counts | promise |
|---|---|---|
| queries, methods | those of WMI providers, which cost the time on a real node; associations are queries | no more than csi-proxy needs. The tests check every row except those in bold, whose reasons follow the table; they do not check situations without a row |
| handles | files, devices and services that are opened | none |
| calls | operations by name or on an open handle | none |
| waits | pauses between two reads | none |

**WMI.** If the kernel has the answer, we query no provider. On Windows each query is one `ExecQuery` and each method one
`ExecMethod`, a round trip to WMI's process; besides, a connection fetches the definition of each method once. A namespace
has at most three connections, which we keep; csi-proxy makes a new one for each query. The counts leave out the rounds in
which our code polls an enumerator or a running call: they depend on how long the provider takes.

**csi-proxy's numbers** are not measured, as it runs only on Windows. They were counted in its source,
[kubernetes-csi/csi-proxy](https://github.com/kubernetes-csi/csi-proxy), master at `eeba470`: the function in
`pkg/os/GROUP/api.go` with the call's name, and the queries and methods that it reaches in `pkg/wmi`. If it polls, as for
a service, they are the least that it needs.

**Handles.** csi-proxy acts on names and numbers and opens few. We open each folder on the way to what a call changes, so
that nobody puts a link in its place. Before a disk is written, we query the kernel whether it is the disk that the
provider means, how it is laid out and what runs from it, and read what is to be overwritten. We query disks, volumes and
services through a handle where csi-proxy queries WMI.

**Many volumes.** A look-up by path and the statistics of a volume cost the same however many volumes the node has.
ListVolumesOnDisk opens every volume of the node, as only a volume itself reports where it lies.

| call | situation | queries | csi-proxy | methods | csi-proxy | handles | calls | waits |
|---|---|---:|---:|---:|---:|---:|---:|---:|
";

const REASONS: &str = "
## Where the providers have more work than with csi-proxy

| call and situation | why |
|---|---|
";

const CSI: &str = "
## CSI calls of wincsi's node plugin

The first columns are what one call to `wincsi node` costs the node, as above; the plugin works in its own process. Beside
them are other drivers for the same, as they use csi-proxy's pipes: how many calls they make to csi-proxy, and
csi-proxy's queries and methods for these, by the table above. Their calls were read in their sources: azuredisk `d983d61`,
gce-pd `b560165`, aws-ebs `429e202`. What they do in their own process, such as statistics of a path, is not counted. The
disk is online, and the node has two others, each of which is asked who it is when the disk is looked for.

NodeStageVolume has more queries than other drivers: before each change of the disk it proves anew, under the disk's lock,
that the number is still that of the disk which the request names. A repeated call for a staged volume proves once that the
mounted volume is the recorded one and lies on that disk, and changes nothing.

";

/// The text of the page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (call, row) in rows() {
        page += &line(call, row);
    }
    page + REASONS + &reasons() + CSI + &csi()
}

fn csi() -> String {
    let others: String = DRIVERS
        .iter()
        .map(|name| format!(" {name}: calls | queries | methods |"))
        .collect();
    let head =
        format!("| call | situation | queries | methods | handles | calls | waits |{others}\n");
    let rule = format!("|---|---|{}\n", "---:|".repeat(5 + 3 * DRIVERS.len()));
    let lines: String = ROWS.iter().map(csi_line).collect();
    head + &rule + &lines
}

fn csi_line(row: &CsiRow) -> String {
    let cells = |numbers: &[u64]| -> String {
        let cells = numbers.iter().map(|number| format!(" {number} |"));
        cells.collect()
    };
    let others = row.others.iter().filter_map(|calls| sum(calls));
    let others: String = others.map(|sum| cells(&sum)).collect();
    let (call, situation) = (row.call, row.situation);
    format!("| {call} | {situation} |{}{others}\n", cells(&row.cost))
}

/// Calls with the same reason share a line.
fn reasons() -> String {
    let mut by_reason = Vec::<(&str, Vec<String>)>::new();
    for (call, row) in rows().filter(|(_, row)| row.exceeds()) {
        let comma = if row.situation.is_empty() { "" } else { ", " };
        let shown = format!("`{call}`{comma}{}", row.situation);
        match by_reason.iter_mut().find(|(why, _)| *why == row.reason) {
            Some((_, calls)) => calls.push(shown),
            None => by_reason.push((row.reason, vec![shown])),
        }
    }
    let lines = by_reason.iter();
    let lines = lines.map(|(why, calls)| format!("| {} | {why} |\n", calls.join("; ")));
    lines.collect()
}

fn line(call: &str, row: &Row) -> String {
    let [queries, methods, handles, calls, waits] = row.cost;
    let [their_queries, their_methods] = row.csi_proxy;
    let (queries, methods) = (
        marked(queries, their_queries),
        marked(methods, their_methods),
    );
    let situation = row.situation;
    format!(
        "| {call} | {situation} | {queries} | {their_queries} | {methods} | {their_methods} | \
         {handles} | {calls} | {waits} |\n"
    )
}

fn marked(ours: u64, theirs: u64) -> String {
    if ours > theirs {
        return format!("**{ours}**");
    }
    ours.to_string()
}
