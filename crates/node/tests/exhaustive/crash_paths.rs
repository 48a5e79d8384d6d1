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

use crate::support::crash::{Scenario, check, check_with_any_reach, with_text_error};
use crate::support::{KUBELET, NodeFixture, PASSWORD, SHARE, STAGING, USER, path};

/// Where the kubelet keeps what is the pods'.
const PODS: &str = r"C:\var\lib\kubelet\pods";

const POD: &str = r"C:\var\lib\kubelet\pods\a";

#[test]
fn mount_a_volume() {
    check_with_any_reach(&Scenario {
        name: "mount",
        prepare: || {
            let fixture = NodeFixture::with_volume();
            make(&fixture, STAGING);
            fixture.write(&format!("{}data.txt", fixture.volume()), "precious");
            fixture
        },
        act: |fixture| {
            let staging = with_text_error(fixture.resolved(STAGING))?;
            with_text_error(
                fixture
                    .volumes()
                    .mount(fixture.volume(), staging, fixture.soon()),
            )
        },
        done_already: &[],
    });
}

#[test]
fn unmount_a_volume() {
    check_with_any_reach(&Scenario {
        name: "unmount",
        prepare: NodeFixture::with_mounted_volume,
        act: |fixture| {
            let (volumes, staging) = (
                fixture.volumes(),
                with_text_error(fixture.resolved(STAGING))?,
            );
            with_text_error(volumes.unmount(fixture.volume(), staging, fixture.soon()))
        },
        done_already: &["is not a mounted folder"],
    });
}

#[test]
fn remove_a_tree() {
    check_with_any_reach(&Scenario {
        name: "rmdir with force",
        prepare: with_a_tree,
        act: |fixture| remove_tree(fixture, PODS),
        done_already: &[],
    });
}

/// Its directories are held on the volume.
#[test]
fn remove_a_tree_on_a_mounted_volume() {
    check(&Scenario {
        name: "rmdir with force on a volume",
        prepare: || {
            let fixture = NodeFixture::with_mounted_volume();
            make(&fixture, &format!(r"{STAGING}\top\a\b"));
            fixture.write(&format!(r"{STAGING}\top\a\file"), "gone");
            fixture
        },
        act: |fixture| remove_tree(fixture, &format!(r"{STAGING}\top")),
        done_already: &[],
    });
}

#[test]
fn remove_contents() {
    check_with_any_reach(&Scenario {
        name: "rmdir of contents",
        prepare: with_a_tree,
        act: |fixture| {
            let pods = with_text_error(fixture.resolved(PODS))?;
            with_text_error(fixture.filesystem().remove_contents(pods, fixture.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn make_directories() {
    check_with_any_reach(&Scenario {
        name: "mkdir",
        prepare: || {
            let fixture = NodeFixture::with_data_disk();
            make(&fixture, KUBELET);
            fixture
        },
        act: |fixture| make_directory(fixture, &format!(r"{POD}\b\c")),
        done_already: &[],
    });
}

#[test]
fn make_directories_and_the_working_folder_itself() {
    check_with_any_reach(&Scenario {
        name: "mkdir of all",
        prepare: NodeFixture::with_data_disk,
        act: |fixture| make_directory(fixture, POD),
        done_already: &[],
    });
}

/// A link leads there, and they are made and held on the volume.
#[test]
fn make_directories_on_a_mounted_volume() {
    check_with_any_reach(&Scenario {
        name: "mkdir on a volume",
        prepare: || {
            let fixture = NodeFixture::with_mounted_volume();
            make(&fixture, PODS);
            let files = fixture.files();
            let link = files.create_symlink(&path(POD), STAGING, LinkKind::Directory);
            link.unwrap();
            fixture
        },
        act: |fixture| make_directory(fixture, &format!(r"{POD}\b\c")),
        done_already: &[],
    });
}

#[test]
fn make_a_link() {
    check_with_any_reach(&Scenario {
        name: "symlink",
        prepare: || {
            let fixture = NodeFixture::with_mounted_volume();
            make(&fixture, PODS);
            fixture
        },
        act: |fixture| {
            let (staging, link) = (
                with_text_error(fixture.resolved(STAGING))?,
                with_text_error(fixture.resolved(POD))?,
            );
            let filesystem = fixture.filesystem();
            with_text_error(filesystem.create_symlink(staging, link, fixture.soon()))
        },
        done_already: &[],
    });
}

/// The link of before is a file link: it was made while what it leads to was not there.
#[test]
fn make_a_directory_link_where_a_file_link_is() {
    check_with_any_reach(&Scenario {
        name: "link",
        prepare: || {
            let fixture = NodeFixture::with_mounted_volume();
            make(&fixture, PODS);
            let files = fixture.files();
            files
                .create_symlink(&path(POD), STAGING, LinkKind::File)
                .unwrap();
            fixture
        },
        act: |fixture| {
            let link = with_text_error(fixture.resolved(POD))?;
            let filesystem = fixture.filesystem();
            with_text_error(filesystem.link_directory(&path(STAGING), link, fixture.soon()))
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
            let fixture = with_server();
            map_with_link(&fixture).unwrap();
            fixture.change_password("other");
            fixture
        },
        act: |fixture| map(fixture, "other", None),
        done_already: &[],
    });
}

#[test]
fn unmap_a_share_that_nobody_uses() {
    check(&Scenario {
        name: "unmap unless used",
        prepare: || {
            let fixture = with_server();
            map_with_link(&fixture).unwrap();
            fixture
        },
        act: |fixture| {
            let unmapped = fixture
                .smb()
                .unmap_unless(&remote(), || false, fixture.soon());
            with_text_error(unmapped.map(drop))
        },
        done_already: &["No MSFT_SmbGlobalMapping objects found"],
    });
}

#[test]
fn unmap_a_share() {
    check(&Scenario {
        name: "unmap",
        prepare: || {
            let fixture = with_server();
            map_with_link(&fixture).unwrap();
            fixture
        },
        act: |fixture| with_text_error(fixture.smb().unmap(&remote(), fixture.soon())),
        done_already: &["No MSFT_SmbGlobalMapping objects found"],
    });
}

fn make_directory(fixture: &NodeFixture, at: &str) -> Result<(), String> {
    let resolved = with_text_error(fixture.resolved(at))?;
    with_text_error(
        fixture
            .filesystem()
            .make_directory(resolved, fixture.soon()),
    )
}

fn remove_tree(fixture: &NodeFixture, at: &str) -> Result<(), String> {
    let resolved = with_text_error(fixture.resolved(at))?;
    with_text_error(fixture.filesystem().remove_tree(resolved, fixture.soon()))
}

fn map_with_link(fixture: &NodeFixture) -> Result<(), String> {
    map(fixture, PASSWORD, Some(STAGING))
}

fn map(fixture: &NodeFixture, password: &str, link: Option<&str>) -> Result<(), String> {
    let link = link
        .map(|link| with_text_error(fixture.resolved(link)))
        .transpose()?;
    let credentials = Credentials::new(USER, Zeroizing::new(password.to_owned()));
    let remote = remote();
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(link.as_ref());
    with_text_error(fixture.smb().map(&mapping, fixture.soon()).map(drop))
}

fn remote() -> RemotePath {
    RemotePath::parse(&format!(r"{SHARE}\sub")).unwrap()
}

/// A server, and the folder that a driver's link goes into.
fn with_server() -> NodeFixture {
    let fixture = NodeFixture::with_server();
    let above = path(STAGING).parent().unwrap();
    make(&fixture, &above.to_string());
    fixture
}

/// The leftovers of a pod: files, one of them read-only, a link out, and a mounted volume.
fn with_a_tree() -> NodeFixture {
    let fixture = NodeFixture::with_mounted_volume();
    let mounted = format!(r"{POD}\mounted");
    for folder in [&mounted, &format!(r"{POD}\b"), r"C:\var\lib\kept"] {
        make(&fixture, folder);
    }
    let mount = fixture
        .volumes()
        .mount(fixture.volume(), &path(&mounted), fixture.soon());
    mount.unwrap();
    fixture.write(r"C:\var\lib\kept\file", "kept");
    let file = format!(r"{POD}\file");
    fixture.write(&file, "gone");
    let files = fixture.files();
    files.set_read_only(&path(&file)).unwrap();
    let out = path(&format!(r"{POD}\b\out"));
    let link = files.create_symlink(&out, r"C:\var\lib\kept", LinkKind::Directory);
    link.unwrap();
    fixture
}

fn make(fixture: &NodeFixture, folder: &str) {
    fixture.make_directory(folder);
}
