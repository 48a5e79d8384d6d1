//! Every mutating operation on a path, cut off at every operation of the system that it makes, and
//! called again; how is in `support::crash`.
//!
//! What removes a mounted folder is in `crash_mounted_folder.rs`.
//!
//! The paths are resolved within the kubelet's folder, as csi-proxy does it unless it is told
//! otherwise, and once more taken as they are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind};
use wincsi_node::{Credentials, MapRequest, RemotePath};
use zeroize::Zeroizing;

use crate::support::crash::{Scenario, check, check_with_any_reach, told};
use crate::support::{KUBELET, PASSWORD, Rig, SHARE, STAGING, USER, path};

/// Where the kubelet keeps what is the pods'.
const PODS: &str = r"C:\var\lib\kubelet\pods";

const POD: &str = r"C:\var\lib\kubelet\pods\a";

#[test]
fn mount_a_volume() {
    check_with_any_reach(&Scenario {
        name: "mount",
        prepare: || {
            let rig = Rig::with_volume();
            make(&rig, STAGING);
            rig.write(&format!("{}data.txt", rig.volume()), "precious");
            rig
        },
        act: |rig| {
            let staging = told(rig.way(STAGING))?;
            told(rig.volumes().mount(rig.volume(), staging, rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn unmount_a_volume() {
    check_with_any_reach(&Scenario {
        name: "unmount",
        prepare: Rig::with_mounted_volume,
        act: |rig| {
            let (volumes, staging) = (rig.volumes(), told(rig.way(STAGING))?);
            told(volumes.unmount(rig.volume(), staging, rig.soon()))
        },
        done_already: &["is not a mounted folder"],
    });
}

#[test]
fn remove_a_tree() {
    check_with_any_reach(&Scenario {
        name: "rmdir with force",
        prepare: with_a_tree,
        act: |rig| remove_tree(rig, PODS),
        done_already: &[],
    });
}

/// Its directories are held on the volume.
#[test]
fn remove_a_tree_on_a_mounted_volume() {
    check(&Scenario {
        name: "rmdir with force on a volume",
        prepare: || {
            let rig = Rig::with_mounted_volume();
            make(&rig, &format!(r"{STAGING}\top\a\b"));
            rig.write(&format!(r"{STAGING}\top\a\file"), "gone");
            rig
        },
        act: |rig| remove_tree(rig, &format!(r"{STAGING}\top")),
        done_already: &[],
    });
}

#[test]
fn remove_contents() {
    check_with_any_reach(&Scenario {
        name: "rmdir of contents",
        prepare: with_a_tree,
        act: |rig| {
            let pods = told(rig.way(PODS))?;
            told(rig.filesystem().remove_contents(pods, rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn make_directories() {
    check_with_any_reach(&Scenario {
        name: "mkdir",
        prepare: || {
            let rig = Rig::with_data_disk();
            make(&rig, KUBELET);
            rig
        },
        act: |rig| make_directory(rig, &format!(r"{POD}\b\c")),
        done_already: &[],
    });
}

#[test]
fn make_directories_and_the_working_folder_itself() {
    check_with_any_reach(&Scenario {
        name: "mkdir of all",
        prepare: Rig::with_data_disk,
        act: |rig| make_directory(rig, POD),
        done_already: &[],
    });
}

/// A link leads there, and they are made and held on the volume.
#[test]
fn make_directories_on_a_mounted_volume() {
    check_with_any_reach(&Scenario {
        name: "mkdir on a volume",
        prepare: || {
            let rig = Rig::with_mounted_volume();
            make(&rig, PODS);
            let files = rig.sim.files();
            let link = files.create_symlink(&path(POD), STAGING, LinkKind::Directory);
            link.unwrap();
            rig
        },
        act: |rig| make_directory(rig, &format!(r"{POD}\b\c")),
        done_already: &[],
    });
}

#[test]
fn make_a_link() {
    check_with_any_reach(&Scenario {
        name: "symlink",
        prepare: || {
            let rig = Rig::with_mounted_volume();
            make(&rig, PODS);
            rig
        },
        act: |rig| {
            let (staging, link) = (told(rig.way(STAGING))?, told(rig.way(POD))?);
            let filesystem = rig.filesystem();
            told(filesystem.create_symlink(staging, link, rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn map_a_share_with_a_link() {
    check_with_any_reach(&Scenario {
        name: "map",
        prepare: with_server,
        act: map_with_link,
        done_already: &[],
    });
}

#[test]
fn map_a_share_anew_that_does_not_answer() {
    check(&Scenario {
        name: "map anew",
        prepare: || {
            let rig = with_server();
            map_with_link(&rig).unwrap();
            rig.change_password("other");
            rig
        },
        act: |rig| map(rig, "other", None),
        done_already: &[],
    });
}

#[test]
fn unmap_a_share() {
    check(&Scenario {
        name: "unmap",
        prepare: || {
            let rig = with_server();
            map_with_link(&rig).unwrap();
            rig
        },
        act: |rig| told(rig.smb().unmap(&remote(), rig.soon())),
        done_already: &["No MSFT_SmbGlobalMapping objects found"],
    });
}

fn make_directory(rig: &Rig, at: &str) -> Result<(), String> {
    let way = told(rig.way(at))?;
    told(rig.filesystem().make_directory(way, rig.soon()))
}

fn remove_tree(rig: &Rig, at: &str) -> Result<(), String> {
    let way = told(rig.way(at))?;
    told(rig.filesystem().remove_tree(way, rig.soon()))
}

fn map_with_link(rig: &Rig) -> Result<(), String> {
    map(rig, PASSWORD, Some(STAGING))
}

fn map(rig: &Rig, password: &str, link: Option<&str>) -> Result<(), String> {
    let link = link.map(|link| told(rig.way(link))).transpose()?;
    let credentials = Credentials::new(USER, Zeroizing::new(password.to_owned()));
    let remote = remote();
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(link.as_ref());
    told(rig.smb().map(&mapping, rig.soon()).map(drop))
}

fn remote() -> RemotePath {
    RemotePath::parse(&format!(r"{SHARE}\sub")).unwrap()
}

/// A server, and the folder that a driver's link goes into.
fn with_server() -> Rig {
    let rig = Rig::with_server();
    let above = path(STAGING).parent().unwrap();
    make(&rig, &above.to_string());
    rig
}

/// What a pod may leave: files, one of them read-only, a link out, and a volume mounted.
fn with_a_tree() -> Rig {
    let rig = Rig::with_mounted_volume();
    let mounted = format!(r"{POD}\mounted");
    for folder in [&mounted, &format!(r"{POD}\b"), r"C:\var\lib\kept"] {
        make(&rig, folder);
    }
    let mount = rig
        .volumes()
        .mount(rig.volume(), &path(&mounted), rig.soon());
    mount.unwrap();
    rig.write(r"C:\var\lib\kept\file", "kept");
    let file = format!(r"{POD}\file");
    rig.write(&file, "gone");
    let files = rig.sim.files();
    files.set_read_only(&path(&file)).unwrap();
    let out = path(&format!(r"{POD}\b\out"));
    let link = files.create_symlink(&out, r"C:\var\lib\kept", LinkKind::Directory);
    link.unwrap();
    rig
}

fn make(rig: &Rig, folder: &str) {
    let made = rig.filesystem().make_directory(&path(folder), rig.soon());
    made.unwrap();
}
