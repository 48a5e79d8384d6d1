//! The SMB and iSCSI servers near the node.

use std::path::Path;

use os::schema::smb_global_mapping::{CLASS, REMOTE_PATH};
use os::{Arguments, Deadline, Query};
use os_sim::iscsi::{self, IscsiControl, TargetSpec};
use os_sim::smb::{ServerSpec, SmbControl};
use os_sim::{Bus, DiskSpec, SimNode};

const USER: &str = r"DOMAIN\user";
const PASSWORD: &str = "password";

/// Sets all of them up around the node of this folder: a file server, a storage account, a server for democratic-csi
/// with a user of its name, an array with a target, and a Longhorn engine's own target without CHAP.
pub(crate) fn around(node: &Path) {
    let servers = SmbControl::at(node);
    let mut files = ServerSpec::sharing("share", USER, PASSWORD);
    let other = ServerSpec::sharing("other", USER, PASSWORD);
    files.share.extend(other.share);
    servers.add_server("fileserver", &files).unwrap();
    let account = ServerSpec::sharing("share", r"AZURE\account", "bm90IGEga2V5IGF0IGFsbA==");
    let account = account.also_named("account.file.core.windows.net");
    servers.add_server("account", &account).unwrap();
    let nas = ServerSpec::sharing("share", r"nas\user", PASSWORD);
    servers.add_server("nas", &nas).unwrap();
    for (server, below) in [
        ("fileserver", "pvc-1"),
        ("fileserver", "pvc-2"),
        ("nas", "pvc-1"),
    ] {
        let share = servers.share_folder(server, "share");
        std::fs::create_dir_all(share.join(below)).unwrap();
    }
    targets_around(node);
}

fn targets_around(node: &Path) {
    let servers = IscsiControl::at(node);
    let array = TargetSpec::named("iqn.2026-01.com.example:volume").asking("node", "0123456789ab");
    let engine = TargetSpec::named("iqn.2019-10.io.longhorn:pvc-1");
    for (name, address, image, serial, target) in [
        ("array", "10.0.0.9", "volume", "ISCSI0001", array),
        ("engine", "10.0.0.10", "engine", "beaf11", engine),
    ] {
        servers.set_image(image, 1 << 30).unwrap();
        let target = target.with_disk(image, DiskSpec::on(Bus::Iscsi).serial(serial));
        let server = iscsi::ServerSpec::at(address).offering(target);
        servers.add_server(name, &server).unwrap();
    }
}

/// The shares mapped on the node, in any state.
pub(crate) fn mapped(sim: &SimNode) -> Vec<String> {
    let query = Query::all(CLASS.name, &[REMOTE_PATH.name]);
    let found = sim.os().smb.query(&query, Deadline::NEVER).unwrap();
    let paths = found.iter().map(|mapping| mapping.text(REMOTE_PATH.name));
    let mut paths: Vec<_> = paths.map(|path| path.unwrap().to_owned()).collect();
    paths.sort();
    paths
}

/// Maps a share as another program does.
pub(crate) fn map(sim: &SimNode, share: &str) {
    use os::schema::smb_global_mapping::{CREATE, create};
    let credential = format!("{}:{PASSWORD}", USER.replace('\\', r"\\"));
    let arguments = Arguments::none()
        .with(create::REMOTE_PATH.name, os::Value::text(share))
        .with(create::CREDENTIAL.name, os::Value::text(credential));
    let class = os::Target::Class(CLASS.name);
    let done = sim
        .os()
        .smb
        .invoke(class, CREATE.name, &arguments, Deadline::NEVER);
    assert_eq!(done.unwrap().code, 0, "mapping {share}");
}
