//! Files, directories and links on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::thread::{self, JoinHandle};
use std::time::Duration;

use os::{Deadline, Files, LinkKind, Win32, WinPath};
use wincsi_node::{FilesystemError, Unfinished, VolumeError};

use crate::support::{NodeFixture, path};

/// azuredisk unstages with `Rmdir{force}` on the mounted folder itself and nothing before it.
#[test]
fn azuredisk_unstage_leaves_the_volumes_files_alone() {
    let fixture = NodeFixture::with_mounted_volume();
    let staging = fixture.staging();
    fixture
        .filesystem()
        .remove_tree(&staging, fixture.soon())
        .unwrap();
    assert!(
        !fixture
            .filesystem()
            .path_exists(&staging, fixture.soon())
            .unwrap()
    );
    assert_eq!(fixture.precious(), "precious");
    let paths = fixture.os().volumes.access_paths(fixture.volume()).unwrap();
    assert_eq!(paths, [], "the mount manager forgot the folder");
    fixture
        .filesystem()
        .remove_tree(&staging, fixture.soon())
        .unwrap();
}

#[test]
fn a_tree_goes_and_what_its_links_lead_to_stays() {
    let fixture = NodeFixture::with_mounted_volume();
    let filesystem = fixture.filesystem();
    let top = path(r"C:\var\lib\kubelet");
    let outside = path(r"C:\outside");
    filesystem.make_directory(&outside, fixture.soon()).unwrap();
    fixture.write(r"C:\outside\kept.txt", "kept");
    fixture.make_directory(r"C:\var\lib\kubelet\pods\a\b\c");
    fixture.write(r"C:\var\lib\kubelet\pods\a\file", "gone");
    fixture.write(r"C:\var\lib\kubelet\pods\a\stubborn", "gone");
    fixture
        .files()
        .set_read_only(&path(r"C:\var\lib\kubelet\pods\a\stubborn"))
        .unwrap();
    fixture
        .files()
        .set_read_only(&path(r"C:\var\lib\kubelet\pods\a\b"))
        .unwrap();
    let link = |name: &str, target: &str, kind| {
        fixture
            .files()
            .create_symlink(&path(name), target, kind)
            .unwrap();
    };
    link(
        r"C:\var\lib\kubelet\pods\a\out",
        r"C:\outside",
        LinkKind::Directory,
    );
    link(
        r"C:\var\lib\kubelet\pods\a\file-out",
        r"C:\outside\kept.txt",
        LinkKind::File,
    );
    link(
        r"C:\var\lib\kubelet\pods\a\dangling",
        r"C:\nowhere",
        LinkKind::Directory,
    );
    filesystem.remove_tree(&top, fixture.soon()).unwrap();
    assert!(!filesystem.path_exists(&top, fixture.soon()).unwrap());
    assert_eq!(fixture.read(r"C:\outside\kept.txt"), "kept");
    assert_eq!(fixture.precious(), "precious");
}

#[test]
fn a_link_as_the_root_goes_as_an_entry() {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    fixture.make_directory(r"C:\outside");
    fixture.write(r"C:\outside\kept.txt", "kept");
    let link = path(r"C:\link");
    filesystem
        .create_symlink(&path(r"C:\outside"), &link, fixture.soon())
        .unwrap();
    assert!(matches!(
        filesystem.remove_contents(&link, fixture.soon()),
        Err(FilesystemError::NotEntered { .. })
    ));
    filesystem.remove_tree(&link, fixture.soon()).unwrap();
    assert!(!filesystem.path_exists(&link, fixture.soon()).unwrap());
    assert_eq!(fixture.read(r"C:\outside\kept.txt"), "kept");
}

#[test]
fn contents_go_and_the_directory_stays() {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    let top = path(r"C:\var\top");
    fixture.make_directory(r"C:\var\top\a\b");
    fixture.write(r"C:\var\top\file", "gone");
    filesystem.remove_contents(&top, fixture.soon()).unwrap();
    assert_eq!(fixture.files().list(&top).unwrap(), []);
    filesystem.remove_contents(&top, fixture.soon()).unwrap();
    let missing = filesystem.remove_contents(&path(r"C:\var\none"), fixture.soon());
    assert!(matches!(missing, Err(FilesystemError::Remove { .. })));
}

#[test]
fn one_entry_at_a_time_without_force() {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    fixture.make_directory(r"C:\var\a\b");
    let full = filesystem
        .remove_entry(&path(r"C:\var\a"), fixture.soon())
        .unwrap_err();
    assert_eq!(
        full.to_string(),
        r"remove C:\var\a: The directory is not empty."
    );
    filesystem
        .remove_entry(&path(r"C:\var\a\b"), fixture.soon())
        .unwrap();
    let missing = filesystem
        .remove_entry(&path(r"C:\var\a\b"), fixture.soon())
        .unwrap_err();
    let text = r"remove C:\var\a\b: The system cannot find the file specified.";
    assert_eq!(missing.to_string(), text);
}

#[test]
fn directories_are_made_down_to_the_last() {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    let deep = path(r"C:\var\lib\kubelet\pods");
    filesystem.make_directory(&deep, fixture.soon()).unwrap();
    filesystem.make_directory(&deep, fixture.soon()).unwrap();
    fixture.make_directory(r"C:\");
    fixture.write(r"C:\var\file", "");
    for blocked in [r"C:\var\file", r"C:\var\file\below"] {
        let refused = filesystem.make_directory(&path(blocked), fixture.soon());
        assert!(
            matches!(refused, Err(FilesystemError::NotADirectory { .. })),
            "{blocked}"
        );
    }
    assert!(
        filesystem
            .make_directory(&path(r"Q:\var"), fixture.soon())
            .is_err()
    );
}

#[test]
fn a_link_is_made_once_and_for_one_target() {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    let (target, link) = (path(r"C:\var\target"), path(r"C:\var\link"));
    filesystem.make_directory(&target, fixture.soon()).unwrap();
    filesystem
        .create_symlink(&target, &link, fixture.soon())
        .unwrap();
    filesystem
        .create_symlink(&target, &link, fixture.soon())
        .unwrap();
    let other = filesystem
        .create_symlink(&path(r"C:\var"), &link, fixture.soon())
        .unwrap_err();
    let text = r"symlink C:\var C:\var\link: Cannot create a file when that file already exists.";
    assert_eq!(other.to_string(), text);
    assert!(
        filesystem
            .create_symlink(&link, &target, fixture.soon())
            .is_err()
    );
}

/// As csi-proxy tells them: see the behaviour of `IsSymlink`.
#[test]
fn what_is_a_link_and_what_is_none() {
    let fixture = NodeFixture::with_mounted_volume();
    let filesystem = fixture.filesystem();
    let is_link = |at: &str| filesystem.is_symlink(&path(at), fixture.soon());
    let staging = fixture.staging().to_string();
    assert_eq!(is_link(&staging), Ok(true), "a mounted folder counts");
    assert_eq!(is_link(r"C:\var"), Ok(false));
    assert_eq!(is_link(&format!(r"{staging}\data.txt")), Ok(false));
    filesystem
        .create_symlink(&fixture.staging(), &path(r"C:\var\pod"), fixture.soon())
        .unwrap();
    assert_eq!(is_link(r"C:\var\pod"), Ok(true));
    filesystem
        .create_symlink(
            &path(r"C:\nowhere"),
            &path(r"C:\var\dangling"),
            fixture.soon(),
        )
        .unwrap();
    assert_eq!(is_link(r"C:\var\dangling"), Ok(false));
    let missing = is_link(r"C:\var\none").unwrap_err();
    assert!(matches!(missing, FilesystemError::Inspect { source, .. }
        if source.win32() == Some(Win32::FILE_NOT_FOUND)));
    fixture
        .hardware()
        .detach_disk(crate::support::DATA)
        .unwrap();
    assert_eq!(is_link(&staging), Ok(false), "its volume is gone");
}

/// Somebody puts a link where a directory was listed: it goes as an entry.
/// Guards: P57
#[test]
fn a_directory_that_becomes_a_link_is_not_entered() {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    fixture.make_directory(r"C:\outside");
    fixture.write(r"C:\outside\kept.txt", "kept");
    fixture.make_directory(r"C:\var\top\victim");
    let swapping =
        crate::support::swap::Swap::to_link(&fixture, path(r"C:\var\top\victim"), r"C:\outside");
    swapping
        .node
        .operations()
        .filesystem()
        .remove_tree(&path(r"C:\var\top"), fixture.soon())
        .unwrap();
    assert!(swapping.has_swapped());
    assert!(
        !filesystem
            .path_exists(&path(r"C:\var\top"), fixture.soon())
            .unwrap()
    );
    assert_eq!(fixture.read(r"C:\outside\kept.txt"), "kept");
}

/// Somebody else's mount, which no lock of ours keeps away.
#[test]
fn a_volume_that_is_mounted_between_pin_and_list_keeps_its_files() {
    let fixture = NodeFixture::with_mounted_volume();
    let filesystem = fixture.filesystem();
    let victim = path(r"C:\var\top\victim");
    filesystem.make_directory(&victim, fixture.soon()).unwrap();
    for clear in [false, true] {
        let mounting =
            crate::support::swap::Swap::to_mount(&fixture, victim.clone(), fixture.volume());
        let filesystem = mounting.node.operations().filesystem();
        let top = path(r"C:\var\top");
        let (asked, removed) = match clear {
            true => (&victim, filesystem.remove_contents(&victim, fixture.soon())),
            false => (&top, filesystem.remove_tree(&top, fixture.soon())),
        };
        let expected = FilesystemError::BecameReparsePoint {
            path: asked.to_string(),
            at: victim.to_string(),
        };
        assert_eq!(removed, Err(expected));
        assert!(mounting.has_swapped());
        assert_eq!(fixture.precious(), "precious");
        let volumes = fixture.volumes();
        volumes
            .unmount(fixture.volume(), &victim, fixture.soon())
            .unwrap();
    }
}

/// Either waits for the other: a tree that is being removed gets no mount, and one that gets a mount
/// is not removed.
#[test]
fn a_tree_is_removed_and_mounted_in_one_after_the_other() {
    let fixture = NodeFixture::with_mounted_volume();
    let (top, below) = (path(r"C:\var\plugins"), path(r"C:\var\plugins\x"));
    let filesystem = fixture.filesystem();
    let expired = || fixture.let_pass(Duration::from_secs(7200));
    filesystem.make_directory(&below, fixture.soon()).unwrap();

    let hang = fixture.hang("SetVolumeMountPointW");
    let mounter = mounting(&fixture, &below, Deadline::NEVER);
    fixture.wait_for_hang(1);
    let remover = removing(&fixture, &top, fixture.soon());
    expired();
    let removed = remover.join().unwrap();
    assert!(
        matches!(
            removed,
            Err(FilesystemError::Unfinished(Unfinished::Deadline { .. }))
        ),
        "{removed:?}"
    );
    fixture.faults().remove(hang);
    mounter.join().unwrap().unwrap();

    let hang = fixture.hang("RemoveDirectoryW");
    let remover = removing(&fixture, &top, Deadline::NEVER);
    fixture.wait_for_hang(1);
    let mounter = mounting(&fixture, &below, fixture.soon());
    expired();
    let mounted = mounter.join().unwrap();
    assert!(matches!(mounted, Err(VolumeError::Unfinished(_))));
    fixture.faults().remove(hang);
    remover.join().unwrap().unwrap();
    assert_eq!(filesystem.path_exists(&top, fixture.soon()), Ok(false));
    assert_eq!(fixture.precious(), "precious");
}

fn mounting(
    fixture: &NodeFixture,
    at: &WinPath,
    deadline: Deadline,
) -> JoinHandle<Result<(), VolumeError>> {
    let (node, volume, at) = (fixture.node.clone(), fixture.volume(), at.clone());
    thread::spawn(move || node.operations().volumes().mount(volume, &at, deadline))
}

fn removing(
    fixture: &NodeFixture,
    top: &WinPath,
    deadline: Deadline,
) -> JoinHandle<Result<(), FilesystemError>> {
    let (node, top) = (fixture.node.clone(), top.clone());
    thread::spawn(move || node.operations().filesystem().remove_tree(&top, deadline))
}
