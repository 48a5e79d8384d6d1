use anyhow::Result;
use os_sim::demo;
use os_sim::smb::{ServerHealth, ServerSpec};
use wire::smb::v1::{NewSmbGlobalMappingRequest, rpc};

use crate::{CostedCall, Counted, TestNode, row};

// In a row: queries, methods, handles, calls, waits; csi-proxy's queries and methods.
#[rustfmt::skip]
pub(super) const CALLS: &[CostedCall] = &[
    CostedCall("smb.NewSmbGlobalMapping", &[
        row("not mapped", [1, 1, 0, 0, 0], [1, 1], |node| then_unmap(node, map)),
        row("not mapped, with a link", [1, 1, 3, 3, 0], [1, 1],
            |node| then_unmap(node, map_and_link)),
        row("mapped, and it answers", [1, 0, 0, 1, 0], [1, 0], |node| mapped(node, map)),
        row("mapped and linked; an error with csi-proxy", [1, 0, 5, 3, 0], [1, 0], link_again),
        row("mapped, Status is OK, and its password is not good any more", [2, 2, 0, 2, 0], [1, 2],
            map_anew).because(REPLACEMENT),
        row("mapped, Status is not OK, and its server answers at its port alone, an error",
            [2, 2, 1, 2, 0], [1, 1], renew_in_vain).because(RENEWAL),
        row("mapped, and its server is down, an error", [1, 0, 1, 1, 0], [1, 1],
            |node| mapped(node, map_in_vain)),
    ]),
    CostedCall("smb.RemoveSmbGlobalMapping", &[
        row("mapped", [1, 1, 0, 0, 0], [1, 1], |node| map(node).and_then(|_| unmap(node))),
        row("not mapped, an error", [1, 0, 0, 0, 0], [1, 0], unmap_nothing),
    ]),
];

const REPLACEMENT: &str = "\
    Remove, then Create, as with csi-proxy, but after a second query and check under the server's lock: while the \
    call waited, another may have made a mapping that answers, and pods may have files open there";

const RENEWAL: &str = "\
    Remove before Create, after a second query and check under the server's lock. csi-proxy creates another \
    mapping beside it, which Windows Server 2019 and later refuse (0x80041001, 1219 after a restart). Then nobody \
    can open the share until a person removes the mapping (azurefile-csi-driver pull request 3416)";

fn map(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::NewSmbGlobalMapping>(request)
}

fn map_and_link(node: &TestNode) -> Result<Counted> {
    link_to(node, &node.free_path())
}

fn link_again(node: &TestNode) -> Result<Counted> {
    let link = node.free_path();
    link_to(node, &link)?;
    then_unmap(node, |node| link_to(node, &link))
}

/// The user's password was changed, and the request has the new one.
fn map_anew(node: &TestNode) -> Result<Counted> {
    let change = |password: &str| {
        let user = ServerSpec::sharing("", demo::SMB_USER, password).user;
        let servers = node.file_servers();
        servers.change_server(demo::SMB_SERVER, |server| server.user = user)
    };
    mapped(node, |node| {
        change("new")?;
        let counted = node.cost::<rpc::NewSmbGlobalMapping>(|new| {
            request(new);
            "new".clone_into(&mut new.password);
        });
        change(demo::SMB_PASSWORD)?;
        counted
    })
}

/// The old mapping is gone then, and there is no new one.
fn renew_in_vain(node: &TestNode) -> Result<Counted> {
    map(node)?;
    while_it_is(node, ServerHealth::Paused)
}

/// Asks for the mapping while its server is down.
fn map_in_vain(node: &TestNode) -> Result<Counted> {
    while_it_is(node, ServerHealth::Down)
}

fn while_it_is(node: &TestNode, condition: ServerHealth) -> Result<Counted> {
    let servers = node.file_servers();
    servers.set_condition(demo::SMB_SERVER, condition)?;
    let counted = node.refused::<rpc::NewSmbGlobalMapping>(request);
    servers.set_condition(demo::SMB_SERVER, ServerHealth::Up)?;
    counted
}

fn link_to(node: &TestNode, link: &str) -> Result<Counted> {
    node.cost::<rpc::NewSmbGlobalMapping>(|new| {
        request(new);
        new.local_path = link.to_owned();
    })
}

fn unmap(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::RemoveSmbGlobalMapping>(|remove| remove.remote_path = demo::SHARE.to_owned())
}

fn unmap_nothing(node: &TestNode) -> Result<Counted> {
    node.refused::<rpc::RemoveSmbGlobalMapping>(|remove| {
        remove.remote_path = demo::SHARE.to_owned();
    })
}

/// While the share is mapped.
fn mapped(node: &TestNode, act: impl FnOnce(&TestNode) -> Result<Counted>) -> Result<Counted> {
    map(node)?;
    then_unmap(node, act)
}

fn then_unmap(node: &TestNode, act: impl FnOnce(&TestNode) -> Result<Counted>) -> Result<Counted> {
    let counted = act(node);
    unmap(node)?;
    counted
}

fn request(new: &mut NewSmbGlobalMappingRequest) {
    new.remote_path = demo::SHARE.to_owned();
    new.username = demo::SMB_USER.to_owned();
    new.password = demo::SMB_PASSWORD.to_owned();
}
