//! The SMB and iSCSI servers near the node.

use std::path::Path;

use os::schema::smb_global_mapping::{CLASS, REMOTE_PATH};
use os::{Arguments, Deadline, Query};
use os_sim::iscsi::{self, IscsiControl, TargetSpec};
use os_sim::smb::{ServerSpec, SmbControl};
use os_sim::{Bus, DiskSpec, SimNode};

/// A server with the shares `share` and `other`.
pub(crate) const FILE_SERVER: &str = "fileserver";
pub(crate) const USER: &str = r"DOMAIN\user";
pub(crate) const PASSWORD: &str = "password";

/// A storage account with the share `share`.
pub(crate) const ACCOUNT: &str = "account";
pub(crate) const ACCOUNT_HOST: &str = "account.file.core.windows.net";
pub(crate) const ACCOUNT_USER: &str = r"AZURE\account";
pub(crate) const ACCOUNT_KEY: &str = "bm90IGEga2V5IGF0IGFsbA==";

/// A server for democratic-csi with a user of its name; its share is `share`.
pub(crate) const NAS: &str = "nas";
pub(crate) const NAS_USER: &str = r"nas\user";

pub(crate) const PORTAL: &str = "10.0.0.9";
pub(crate) const TARGET: &str = "iqn.2026-01.com.example:volume";
pub(crate) const TARGET_SERIAL: &str = "ISCSI0001";
/// The image of the target's disk.
pub(crate) const TARGET_IMAGE: &str = "volume";

/// A Longhorn engine's own target, with the disk of one volume and without CHAP.
pub(crate) const ENGINE: &str = "iqn.2019-10.io.longhorn:pvc-1";
pub(crate) const ENGINE_PORTAL: &str = "10.0.0.10";
pub(crate) const ENGINE_SERIAL: &str = "beaf11";

pub(crate) const CHAP_USER: &str = "node";
pub(crate) const CHAP_SECRET: &str = "0123456789ab";

/// Sets all of them up around the node of this folder.
pub(crate) fn around(node: &Path) {
    let servers = SmbControl::at(node);
    let mut files = ServerSpec::sharing("share", USER, PASSWORD);
    let other = ServerSpec::sharing("other", USER, PASSWORD);
    files.share.extend(other.share);
    servers.add_server(FILE_SERVER, &files).unwrap();
    let account = ServerSpec::sharing("share", ACCOUNT_USER, ACCOUNT_KEY);
    let account = account.also_named(ACCOUNT_HOST);
    servers.add_server(ACCOUNT, &account).unwrap();
    let nas = ServerSpec::sharing("share", NAS_USER, PASSWORD);
    servers.add_server(NAS, &nas).unwrap();
    for (server, below) in [
        (FILE_SERVER, "pvc-1"),
        (FILE_SERVER, "pvc-2"),
        (NAS, "pvc-1"),
    ] {
        let share = servers.share_folder(server, "share");
        std::fs::create_dir_all(share.join(below)).unwrap();
    }
    targets_around(node);
}

fn targets_around(node: &Path) {
    let servers = IscsiControl::at(node);
    servers.set_image(TARGET_IMAGE, 1 << 30).unwrap();
    let disk = DiskSpec::on(Bus::Iscsi).serial(TARGET_SERIAL);
    let target = TargetSpec::named(TARGET)
        .with_disk(TARGET_IMAGE, disk)
        .asking(CHAP_USER, CHAP_SECRET);
    let server = iscsi::ServerSpec::at(PORTAL).offering(target);
    servers.add_server("array", &server).unwrap();
}

/// Sets up the engine of a volume.
pub(crate) fn engine_around(servers: &IscsiControl) {
    servers.set_image("engine", 1 << 30).unwrap();
    let disk = DiskSpec::on(Bus::Iscsi).serial(ENGINE_SERIAL);
    let target = TargetSpec::named(ENGINE).with_disk("engine", disk);
    let server = iscsi::ServerSpec::at(ENGINE_PORTAL).offering(target);
    servers.add_server("engine", &server).unwrap();
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
