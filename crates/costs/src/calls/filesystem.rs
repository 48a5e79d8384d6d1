use anyhow::Result;
use os_sim::demo;
use wire::filesystem::v2alpha1::rpc;
use wire::smb::v1::rpc as smb;

use crate::test_node::MOUNTED;
use crate::{CostedCall, Counted, TestNode, row};

// In a row: queries, methods, handles, calls, waits; csi-proxy's queries and methods.
#[rustfmt::skip]
pub(super) const CALLS: &[CostedCall] = &[
    CostedCall("filesystem.PathExists", &[
        row("a folder", [0, 0, 0, 1, 0], [0, 0], |node| exists(node, MOUNTED)),
        row("nothing there", [0, 0, 0, 1, 0], [0, 0], |node| exists(node, &node.free_path())),
    ]),
    CostedCall("filesystem.Mkdir", &[
        row("not there", [0, 0, 2, 0, 0], [0, 0], |node| make(node, &node.free_path())),
        row("there already", [0, 0, 4, 1, 0], [0, 0], |node| make(node, MOUNTED)),
    ]),
    CostedCall("filesystem.Rmdir", &[
        row("an empty folder", [0, 0, 3, 0, 0], [0, 0], remove),
        row("force, one folder inside", [0, 0, 8, 3, 0], [0, 0], |node| force(node, tree(node)?)),
        row("force, a mounted folder", [0, 0, 3, 1, 0], [0, 0],
            |node| force(node, node.mounted()?)),
        row("force, a link", [0, 0, 3, 1, 0], [0, 0], |node| force(node, node.link()?)),
        row("force, nothing there", [0, 0, 2, 1, 0], [0, 0], |node| force(node, node.free_path())),
    ]),
    CostedCall("filesystem.RmdirContents", &[row("one folder inside", [0, 0, 6, 3, 0], [0, 0], empty)]),
    CostedCall("filesystem.CreateSymlink", &[row("", [0, 0, 5, 4, 0], [0, 0], link)]),
    CostedCall("filesystem.IsSymlink", &[
        row("a mounted folder", [0, 0, 1, 2, 0], [0, 0], |node| is_link(node, MOUNTED.to_owned())),
        row("a link to a mounted folder", [0, 0, 1, 2, 0], [0, 0],
            |node| is_link(node, node.link()?)),
        row("a link to a share that is mapped", [1, 0, 1, 1, 0], [0, 0], is_link_to_share)
            .because(TABLE),
        row("a plain folder", [0, 0, 0, 1, 0], [0, 0], |node| is_link(node, node.folder()?)),
    ]),
];

const TABLE: &str = "\
    MSFT_SmbGlobalMapping lists the mapped shares. csi-proxy opens the share: the node logs on to any server that \
    a link names, and a dead one delays the call for a minute";

fn exists(node: &TestNode, path: &str) -> Result<Counted> {
    node.cost::<rpc::PathExists>(|exists| exists.path = path.to_owned())
}

fn make(node: &TestNode, path: &str) -> Result<Counted> {
    node.cost::<rpc::Mkdir>(|mkdir| mkdir.path = path.to_owned())
}

fn remove(node: &TestNode) -> Result<Counted> {
    let path = node.folder()?;
    node.cost::<rpc::Rmdir>(|rmdir| rmdir.path = path)
}

fn force(node: &TestNode, path: String) -> Result<Counted> {
    node.cost::<rpc::Rmdir>(|rmdir| {
        rmdir.path = path;
        rmdir.force = true;
    })
}

fn empty(node: &TestNode) -> Result<Counted> {
    let path = tree(node)?;
    node.cost::<rpc::RmdirContents>(|rmdir| rmdir.path = path)
}

fn link(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::CreateSymlink>(|link| {
        link.source_path = MOUNTED.to_owned();
        link.target_path = node.free_path();
    })
}

fn is_link(node: &TestNode, path: String) -> Result<Counted> {
    node.cost::<rpc::IsSymlink>(|is_symlink| is_symlink.path = path)
}

fn is_link_to_share(node: &TestNode) -> Result<Counted> {
    let link = node.free_path();
    node.call::<smb::NewSmbGlobalMapping>(|new| {
        new.remote_path = demo::SHARE.to_owned();
        new.local_path = link.clone();
        new.username = demo::SMB_USER.to_owned();
        new.password = demo::SMB_PASSWORD.to_owned();
    })?;
    let counted = is_link(node, link);
    node.call::<smb::RemoveSmbGlobalMapping>(|remove| {
        remove.remote_path = demo::SHARE.to_owned();
    })?;
    counted
}

/// A folder with one inside.
fn tree(node: &TestNode) -> Result<String> {
    let path = node.folder()?;
    make(node, &format!(r"{path}\inside"))?;
    Ok(path)
}
