//! docs/performance.md.

use crate::{Row, rows};

const HEAD: &str = "\
# What each call costs the node

Written by `cargo xtask docs` from the table in `crates/costs`. Its tests run every row through
the handlers that serve the pipes, and hold the counts: on a simulated node, and under Wine
through `os-windows`' own way to WMI, to COM objects in the process. How fast calls over a pipe
are is in [benchmarks.md](benchmarks.md).

**Queries and methods** of WMI providers are what costs time on a real node; associations are
queries. We promise never to need more of them than csi-proxy. The tests hold that for every row of the
table but those in bold, whose reasons follow the table; situations without a row are not held.
Where the kernel has the answer, no provider is queried.

Through the native way each query is one `ExecQuery` and each method one `ExecMethod`, which on
Windows is a round trip to WMI's process; besides, a connection fetches the definition of each
method once. A namespace has at most three connections, which are kept, where csi-proxy makes a
new one for each query. The rounds in which an enumerator or a running call is polled are not
counted: they depend on how long the provider takes.

csi-proxy's numbers are not measured, as it runs on Windows alone. They were counted by reading
its source, [kubernetes-csi/csi-proxy](https://github.com/kubernetes-csi/csi-proxy), master at
`eeba470`: the function in `pkg/os/GROUP/api.go` that bears the call's name, and the queries and
methods that it reaches in `pkg/wmi`. Where it polls, as for a service, they are the least that
it needs.

**Handles** are files, devices and services that are opened; nothing is promised of them.
csi-proxy acts on names and numbers and opens few. We open each folder on the way to what is
changed, so that nobody puts a link in its place. Before a disk is written we ask the kernel
whether it is the one that the provider means, how it is laid out and what runs from it, and read
what is to be overwritten. Disks, volumes and services are queried through a handle where
csi-proxy queries WMI.

**Many volumes.** A look-up by path and the statistics of a volume cost the same whatever else
the node has. ListVolumesOnDisk opens every volume of the node, as only a volume
itself reports where it lies.

**Calls** are made by name or on a handle that is open already; **waits** let time pass between
two looks.

| call | situation | queries | csi-proxy | methods | csi-proxy | handles | calls | waits |
|---|---|---:|---:|---:|---:|---:|---:|---:|
";

const REASONS: &str = "
## Where the providers have more work than with csi-proxy

";

/// The text of the page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (call, row) in rows() {
        page += &line(call, row);
    }
    page += REASONS;
    for (call, row) in rows().filter(|(_, row)| row.exceeds()) {
        let comma = if row.situation.is_empty() { "" } else { ", " };
        page += &format!("- `{call}`{comma}{}: {}.\n", row.situation, row.reason);
    }
    page
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
