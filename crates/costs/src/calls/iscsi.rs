use std::mem;

use anyhow::{Result, ensure};
use os::schema::iscsi_target;
use os::{Arguments, Deadline, Target, Value};
use os_sim::demo;
use wire::iscsi::v1alpha2::{ConnectTargetRequest, TargetPortal, rpc};

use crate::{CostedCall, Counted, TestNode, row};

// In a row: queries, methods, handles, calls, waits; csi-proxy's queries and methods.
#[rustfmt::skip]
pub(super) const CALLS: &[CostedCall] = &[
    CostedCall("iscsi.AddTargetPortal", &[
        row("not known", [1, 1, 0, 0, 0], [1, 1], |node| then_remove(node, add)),
        row("known", [1, 0, 0, 0, 0], [1, 0], |node| known(node, add)),
    ]),
    CostedCall("iscsi.DiscoverTargetPortal", &[
        row("", [2, 1, 0, 0, 0], [2, 0], |node| known(node, discover)).because(SINCE),
    ]),
    CostedCall("iscsi.RemoveTargetPortal", &[
        row("", [1, 1, 0, 0, 0], [1, 1], |node| add(node).and_then(|_| remove(node))),
    ]),
    CostedCall("iscsi.ListTargetPortals", &[row("", [1, 0, 0, 0, 0], [1, 0], |node| known(node, list))]),
    CostedCall("iscsi.ConnectTarget", &[
        row("not connected", [2, 1, 0, 0, 0], [2, 1], |node| known(node, connect)),
        row("connected already", [3, 0, 0, 0, 0], [2, 0],
            |node| connected(node, connect)).because(REPLACED),
        row("made after its portal was added; an error with csi-proxy", [3, 2, 0, 0, 0], [2, 0],
            connect_later).because(LATER),
        row("its session has lost its connection, an error", [3, 1, 0, 0, 0], [2, 1],
            |node| lost(node, connect_in_vain)).because(FASTER),
    ]),
    CostedCall("iscsi.DisconnectTarget", &[
        row("one session", [3, 1, 0, 0, 0], [3, 1], |node| connected(node, disconnect)),
        row("two sessions, of which csi-proxy ends one", [4, 2, 0, 0, 0], [3, 1],
            disconnect_several).because(SECOND),
        row("not connected", [3, 0, 0, 0, 0], [2, 0], |node| known(node, disconnect)).because(LOST),
        row("its session has lost its connection; csi-proxy leaves it", [3, 1, 0, 0, 0], [2, 0],
            |node| lost(node, disconnect)).because(LOST),
        row("an unknown target, an error", [3, 0, 0, 0, 0], [2, 0],
            |node| known(node, disconnect_unknown)).because(UNREPORTED),
        row("an unknown portal, an error", [2, 0, 0, 0, 0], [1, 0],
            disconnect_unknown).because(UNREPORTED),
    ]),
    CostedCall("iscsi.GetTargetDisks", &[
        row("one connection", [4, 0, 0, 0, 0], [4, 0], |node| connected(node, disks)),
        row("not connected", [2, 0, 0, 0, 0], [2, 0], |node| known(node, disks)),
        row("an unknown target, an error", [3, 0, 0, 0, 0], [2, 0],
            |node| known(node, disks_unknown)).because(UNREPORTED),
        row("an unknown portal, an error", [2, 0, 0, 0, 0], [1, 0], disks_unknown).because(UNREPORTED),
    ]),
    CostedCall("iscsi.SetMutualChapSecret", &[row("", [0, 1, 0, 0, 0], [0, 1], set_secret)]),
];

const SINCE: &str = "\
    Update makes the initiator query the portal; without it the list is as old as the portal. csi-proxy misses a \
    target made since, and lists one that is gone. A driver there needs RemoveTargetPortal and AddTargetPortal: \
    two queries and two methods more";

const REPLACED: &str = "\
    The target's sessions show whether the one of this process is still the only one; another process may have \
    replaced it. csi-proxy compares nothing";

const LATER: &str = "\
    Update, the portal's targets once more, and Connect. csi-proxy reports no such target until somebody removes \
    the portal and adds it again";

const FASTER: &str = "\
    MSFT_iSCSITarget shows why Connect was refused: another process was faster (success), or a session has no \
    connection. Windows refuses both alike, and drivers take its text for success";

const SECOND: &str = "\
    Disconnect of the second session, and a query of the remaining ones after the first has ended. csi-proxy \
    answers success, and the target stays connected";

const LOST: &str = "\
    We query the sessions although IsConnected is false: it is also false while a session has lost its connection. \
    csi-proxy leaves such a session: it comes back with its server, and with it a disk that the driver has given \
    up";

const UNREPORTED: &str = "\
    MSFT_iSCSITarget shows a target that its portal no longer lists, or whose portal was removed: a session \
    outlives both. Drivers take ObjectNotFound for logged out, so with csi-proxy session and disk stay";

const UNKNOWN_TARGET: &str = "iqn.2026-01.com.example:unknown";

fn discover(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::DiscoverTargetPortal>(|discover| discover.target_portal = portal())
}

fn list(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::ListTargetPortals>(|_| {})
}

fn connect(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::ConnectTarget>(login)
}

fn connect_in_vain(node: &TestNode) -> Result<Counted> {
    node.refused::<rpc::ConnectTarget>(login)
}

fn login(connect: &mut ConnectTargetRequest) {
    connect.target_portal = portal();
    connect.iqn = demo::ISCSI_TARGET.to_owned();
}

/// The target is there only after the portal has told of the others.
fn connect_later(node: &TestNode) -> Result<Counted> {
    let arrays = node.arrays();
    let mut targets = Vec::new();
    arrays.change_server(demo::ISCSI_SERVER, |server| {
        targets = mem::take(&mut server.target);
    })?;
    known(node, |node| {
        arrays.change_server(demo::ISCSI_SERVER, |server| server.target = targets)?;
        connect(node)
    })
}

/// The second session is somebody else's.
fn disconnect_several(node: &TestNode) -> Result<Counted> {
    use iscsi_target::connect as parameters;
    connected(node, |node| {
        let target = Value::text(demo::ISCSI_TARGET);
        let login = Arguments::none()
            .with(parameters::NODE_ADDRESS.name, target)
            .with(parameters::IS_MULTIPATH_ENABLED.name, Value::Bool(true));
        let on = Target::Class(iscsi_target::CLASS.name);
        let method = iscsi_target::CONNECT.name;
        let iscsi = node.sim().os().iscsi;
        let outcome = iscsi.invoke(on, method, &login, Deadline::NEVER)?;
        ensure!(outcome.code == 0, "no second session: {}", outcome.code);
        disconnect(node)
    })
}

fn disconnect(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::DisconnectTarget>(|disconnect| {
        disconnect.target_portal = portal();
        disconnect.iqn = demo::ISCSI_TARGET.to_owned();
    })
}

fn disconnect_unknown(node: &TestNode) -> Result<Counted> {
    node.refused::<rpc::DisconnectTarget>(|disconnect| {
        disconnect.target_portal = portal();
        disconnect.iqn = UNKNOWN_TARGET.to_owned();
    })
}

fn disks(node: &TestNode) -> Result<Counted> {
    node.rescan()?;
    node.cost::<rpc::GetTargetDisks>(|get| {
        get.target_portal = portal();
        get.iqn = demo::ISCSI_TARGET.to_owned();
    })
}

fn disks_unknown(node: &TestNode) -> Result<Counted> {
    node.refused::<rpc::GetTargetDisks>(|get| {
        get.target_portal = portal();
        get.iqn = UNKNOWN_TARGET.to_owned();
    })
}

fn set_secret(node: &TestNode) -> Result<Counted> {
    let secret = demo::ISCSI_PROOF.to_owned();
    node.cost::<rpc::SetMutualChapSecret>(|set| set.mutual_chap_secret = secret)
}

/// While the target's session has lost its connection.
fn lost(node: &TestNode, act: fn(&TestNode) -> Result<Counted>) -> Result<Counted> {
    connected(node, |node| {
        let arrays = node.arrays();
        arrays.set_down(demo::ISCSI_SERVER, true)?;
        let counted = act(node);
        arrays.set_down(demo::ISCSI_SERVER, false)?;
        counted
    })
}

/// While the target is connected.
fn connected(node: &TestNode, act: impl FnOnce(&TestNode) -> Result<Counted>) -> Result<Counted> {
    known(node, |node| {
        connect(node)?;
        act(node)
    })
}

/// While the initiator knows the portal; no session is left.
fn known(node: &TestNode, act: impl FnOnce(&TestNode) -> Result<Counted>) -> Result<Counted> {
    add(node)?;
    then_remove(node, |node| {
        let counted = act(node)?;
        disconnect(node)?;
        Ok(counted)
    })
}

fn then_remove(node: &TestNode, act: impl FnOnce(&TestNode) -> Result<Counted>) -> Result<Counted> {
    let counted = act(node);
    remove(node)?;
    counted
}

fn add(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::AddTargetPortal>(|add| add.target_portal = portal())
}

fn remove(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::RemoveTargetPortal>(|remove| remove.target_portal = portal())
}

/// A port of 0 is the usual one.
fn portal() -> Option<TargetPortal> {
    Some(TargetPortal {
        target_address: demo::ISCSI_ADDRESS.to_owned(),
        target_port: 0,
    })
}
