use anyhow::Result;
use wire::system::v1alpha1::rpc;

use crate::{CostedCall, Counted, TestNode, row};

// In a row: queries, methods, handles, calls, waits; csi-proxy's queries and methods.
#[rustfmt::skip]
pub(super) const CALLS: &[CostedCall] = &[
    CostedCall("system.GetBIOSSerialNumber", &[
        row("", [0, 0, 0, 1, 0], [1, 0], |node| node.cost::<rpc::GetBiosSerialNumber>(|_| {})),
    ]),
    CostedCall("system.GetService", &[row("", [0, 0, 1, 0, 0], [1, 0],
        |node| node.cost::<rpc::GetService>(|get| get.name = SERVICE.to_owned()))]),
    CostedCall("system.StartService", &[
        row("it is stopped", [0, 0, 6, 0, 4], [2, 1], |node| start(node, SERVICE)),
        row("it runs", [0, 0, 1, 0, 0], [3, 1], |node| start(node, SERVICE)),
    ]),
    CostedCall("system.StopService", &[
        row("it runs", [0, 0, 6, 0, 4], [2, 1], stop),
        row("it is stopped", [0, 0, 1, 0, 0], [1, 0], stop),
        row("force, one that runs depends on it", [0, 0, 20, 0, 8], [5, 3], stop_with_dependents),
    ]),
];

/// A service that nothing depends on and that is stopped at first; each row leaves it to the next.
const SERVICE: &str = "vds";

/// A service that runs, and the one that runs and depends on it.
const BELOW: &str = "RpcSs";
const ABOVE: &str = "Winmgmt";

fn start(node: &TestNode, name: &str) -> Result<Counted> {
    node.cost::<rpc::StartService>(|start| start.name = name.to_owned())
}

fn stop(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::StopService>(|stop| stop.name = SERVICE.to_owned())
}

/// Stopped with the one that depends on it, and both started again.
fn stop_with_dependents(node: &TestNode) -> Result<Counted> {
    let counted = node.cost::<rpc::StopService>(|stop| {
        stop.name = BELOW.to_owned();
        stop.force = true;
    })?;
    start(node, BELOW)?;
    start(node, ABOVE)?;
    Ok(counted)
}
