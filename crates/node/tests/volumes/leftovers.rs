//! Links that were being made when a process died.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use os::{Component, Files, LinkKind, Win32, WinPath};
use os_sim::{Effect, Kill, Rule};
use wincsi_node::{Bounds, Credentials, MapRequest, Node, Options, RemotePath, Server, SmbError};
use zeroize::Zeroizing;

use crate::support::{KUBELET, PASSWORD, Rig, SHARE, USER, path, warnings};

const POD: &str = r"C:\var\lib\kubelet\pod";
const LINK: &str = r"C:\var\lib\kubelet\pod\smb";
const OTHER: &str = r"C:\var\lib\kubelet\pod\other";

/// What a process died at that was making a link.
const CREATE: &str = "MSFT_SmbGlobalMapping.Create";
const RENAME: &str = "NtSetInformationFile";

fn rig() -> Rig {
    let rig = Rig::with_server();
    let made = rig.filesystem().make_directory(&path(POD), rig.soon());
    made.unwrap();
    rig
}

fn map(rig: &Rig, link: &str) -> Result<(), SmbError> {
    map_by(&rig.node, rig, link)
}

fn map_by(node: &Node, rig: &Rig, link: &str) -> Result<(), SmbError> {
    let remote = RemotePath::parse(SHARE).unwrap();
    let credentials = Credentials::new(USER, Zeroizing::new(PASSWORD.to_owned()));
    let way = rig.way(link).unwrap();
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(&way);
    let smb = node.operations().smb();
    smb.map(&mapping, rig.soon()).map(drop)
}

/// A node on which a process died at this operation, while it made [`LINK`].
fn after_a_death_at(operation: &str) -> Rig {
    let rig = rig();
    let dies = Rule::on(operation, Effect::Kill(Kill::Before));
    rig.sim.faults().add(dies);
    map(&rig, LINK).unwrap_err();
    let rig = rig.reopened();
    assert!(!left(&rig).is_empty(), "{operation}");
    rig
}

const NOTES: &str = r"C:\Program Files\notes";

/// The operations of a process that notes what it makes.
fn noting(rig: &Rig) -> Node {
    let server = Server {
        notes: Some(path(NOTES)),
        ..Server::default()
    };
    Node::in_server(rig.os().clone(), Options::default(), server)
}

fn notes(rig: &Rig) -> usize {
    let listed = rig.sim.files().list(&path(NOTES));
    listed.map_or(0, |listed| listed.len())
}

fn names(rig: &Rig) -> Vec<String> {
    let listed = rig.sim.files().list(&path(POD)).unwrap();
    let names = listed.iter().map(|found| found.name.to_str().unwrap());
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort();
    names
}

fn left(rig: &Rig) -> Vec<String> {
    let mut names = names(rig);
    names.retain(|name| name.starts_with(".wincsi-link-"));
    names
}

fn below(name: &str) -> WinPath {
    path(POD).join(Component::parse(name).unwrap())
}

#[test]
fn what_is_left_of_a_link_is_nobodys_link_or_folder() {
    for operation in [CREATE, RENAME] {
        let rig = after_a_death_at(operation);
        let (files, soon) = (rig.filesystem(), rig.soon());
        assert!(!files.path_exists(&path(LINK), soon).unwrap());
        let [name] = left(&rig).try_into().unwrap();
        assert!(!files.path_exists(&below(&name), soon).unwrap());
        let refused = files.is_symlink(&below(&name), soon).unwrap_err();
        assert!(refused.to_string().contains("cannot find"), "{refused}");
        map(&rig, LINK).unwrap();
        assert_eq!(names(&rig), ["smb"]);
        assert!(files.is_symlink(&path(LINK), soon).is_ok());
    }
}

#[test]
fn what_is_left_of_a_link_goes_with_any_mapping_removal_or_unmounting_in_its_folder() {
    type Act = fn(&Rig);
    let acts: [Act; 6] = [
        |rig| map(rig, OTHER).unwrap(),
        |rig| {
            let (files, way) = (rig.filesystem(), rig.way(OTHER).unwrap());
            files
                .create_symlink(&path(KUBELET), way, rig.soon())
                .unwrap();
        },
        |rig| {
            let way = rig.way(LINK).unwrap();
            let removed = rig.filesystem().remove_entry(way, rig.soon());
            removed.unwrap_err();
        },
        |rig| {
            let way = rig.way(OTHER).unwrap();
            rig.filesystem().remove_tree(way, rig.soon()).unwrap();
        },
        |rig| {
            let way = rig.way(POD).unwrap();
            rig.filesystem().remove_contents(way, rig.soon()).unwrap();
        },
        |rig| {
            let volume = "\\\\?\\Volume{00000000-0000-0000-0000-000000000007}\\";
            let way = rig.way(OTHER).unwrap();
            let unmounted = rig
                .volumes()
                .unmount(volume.parse().unwrap(), way, rig.soon());
            unmounted.unwrap_err();
        },
    ];
    for operation in [CREATE, RENAME] {
        for (number, act) in acts.iter().enumerate() {
            let rig = after_a_death_at(operation);
            act(&rig);
            assert!(left(&rig).is_empty(), "{operation}, {number}");
        }
    }
}

#[test]
fn a_folder_with_nothing_but_what_is_left_of_a_link_is_removed() {
    for operation in [CREATE, RENAME] {
        let rig = after_a_death_at(operation);
        let way = rig.way(POD).unwrap();
        rig.filesystem().remove_entry(way, rig.soon()).unwrap();
        let gone = rig.sim.files().entry(&path(POD)).unwrap_err();
        assert_eq!(gone.win32(), Some(Win32::FILE_NOT_FOUND));
    }
}

#[test]
fn a_mapping_that_fails_leaves_nothing() {
    let rig = rig();
    for operation in [CREATE, "FSCTL_SET_REPARSE_POINT", RENAME] {
        let fails = Rule::on(operation, Effect::fail(Win32::IO_DEVICE)).times(1);
        rig.sim.faults().add(fails);
        map(&rig, LINK).unwrap_err();
        assert_eq!(names(&rig), [""; 0], "{operation}");
    }
}

#[test]
fn what_somebody_keeps_under_such_a_name_stays() {
    let rig = rig();
    let tree = rig.sim.files();
    let name = |digit: &str| format!(".wincsi-link-{}", digit.repeat(32));
    for name in [name("1"), name("2"), "wincsi-link-3".to_owned()] {
        tree.create_directory(&below(&name)).unwrap();
    }
    let inner = below(&name("1")).join(Component::parse("inner").unwrap());
    tree.create_directory(&inner).unwrap();
    rig.become_junction(&below(&name("2")), r"C:\var");
    rig.write(&below(&name("4")).to_string(), "mine");
    let before = names(&rig);
    map(&rig, LINK).unwrap();
    let way = rig.way(POD).unwrap();
    let refused = rig.filesystem().remove_entry(way, rig.soon()).unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
    let mut after = names(&rig);
    after.retain(|name| name != "smb");
    assert_eq!(after, before);
}

/// Entries of the pod's folder that are named like what is left of links.
fn squat(rig: &Rig, count: u32) -> Vec<WinPath> {
    let squats = (0..count).map(|number| below(&format!(".wincsi-link-{number:032x}")));
    let squats: Vec<_> = squats.collect();
    for squat in &squats {
        rig.sim.files().create_directory(squat).unwrap();
    }
    squats
}

/// A caller who may write in the folder chooses how many there are.
#[test]
fn many_that_cannot_be_removed_are_at_most_one_warning_in_a_call() {
    let rig = rig();
    for squat in squat(&rig, 100) {
        let inner = squat.join(Component::parse("inner").unwrap());
        rig.sim.files().create_directory(&inner).unwrap();
    }
    assert_eq!(warnings::of(|| map(&rig, LINK).unwrap()), 0);
    let remove = |at: &str| {
        let way = rig.way(at).unwrap();
        rig.filesystem().remove_entry(way, rig.soon())
    };
    assert_eq!(warnings::of(|| remove(LINK).unwrap()), 0);
    let refused = warnings::of(|| {
        let refused = remove(POD).unwrap_err().to_string();
        assert!(refused.contains("not empty"), "{refused}");
    });
    assert_eq!(refused, 0);
    assert_eq!(left(&rig).len(), 100);
    let fails = Effect::fail(Win32::IO_DEVICE);
    let fails = Rule::on("SetFileInformationByHandle", fails);
    rig.sim.faults().add(fails);
    assert_eq!(warnings::of(|| map(&rig, LINK).unwrap()), 1);
}

#[test]
fn one_call_removes_some_of_many_and_the_next_ones_the_rest() {
    let rig = rig();
    squat(&rig, 100);
    map(&rig, LINK).unwrap();
    assert_eq!(left(&rig).len(), 36);
    map(&rig, OTHER).unwrap();
    assert_eq!(left(&rig).len(), 0);
}

/// By two calls that are for different links.
#[test]
fn what_is_about_to_become_a_link_is_not_taken_for_what_is_left_of_one() {
    let rig = rig();
    let hang = Rule::on("FSCTL_SET_REPARSE_POINT", Effect::Hang).times(1);
    let hang = rig.sim.faults().add(hang);
    let slow = {
        let (node, soon, way) = (rig.node.clone(), rig.soon(), rig.way(LINK).unwrap());
        let files = move || {
            let files = node.operations().filesystem();
            files.create_symlink(&path(KUBELET), way, soon)
        };
        std::thread::spawn(files)
    };
    let patience = Duration::from_secs(60);
    assert!(rig.sim.faults().wait_until_hanging(1, patience));
    let (files, way) = (rig.filesystem(), rig.way(OTHER).unwrap());
    files
        .create_symlink(&path(KUBELET), way, rig.soon())
        .unwrap();
    let way = rig.way(POD).unwrap();
    files.remove_entry(way, rig.soon()).unwrap_err();
    rig.sim.faults().remove(hang);
    slow.join().unwrap().unwrap();
    assert_eq!(names(&rig), ["other", "smb"]);
}

/// At the next start nobody asks for anything in the folder, and kubelet wants it gone.
#[test]
fn the_next_start_removes_what_was_noted() {
    for operation in [CREATE, RENAME] {
        let rig = rig();
        let dies = Rule::on(operation, Effect::Kill(Kill::Before));
        rig.sim.faults().add(dies);
        map_by(&noting(&rig), &rig, LINK).unwrap_err();
        let rig = rig.reopened();
        assert_eq!((left(&rig).len(), notes(&rig)), (1, 1), "{operation}");
        let bounds = Bounds::resolve_roots(rig.os(), &[path(KUBELET)]);
        noting(&rig).operations().filesystem().clear_noted(&bounds);
        assert_eq!((names(&rig).len(), notes(&rig)), (0, 0), "{operation}");
    }
}

#[test]
fn a_note_is_there_as_long_as_what_it_is_about() {
    let rig = rig();
    let node = noting(&rig);
    let fails = Rule::on(CREATE, Effect::fail(Win32::IO_DEVICE)).times(1);
    rig.sim.faults().add(fails);
    map_by(&node, &rig, LINK).unwrap_err();
    assert_eq!(notes(&rig), 0);
    map_by(&node, &rig, LINK).unwrap();
    assert_eq!(notes(&rig), 0);
    let rights = rig.sim.files().dacl(&path(NOTES)).unwrap();
    assert!(
        rights.starts_with("D:P") && !rights.contains(";BU)"),
        "{rights}"
    );
}

/// A process that could write notes gets nothing removed that is not within bounds and nothing of ours.
#[test]
fn a_note_of_another_folder_removes_nothing_there() {
    let rig = rig();
    let tree = rig.sim.files();
    let ours = Component::parse(&format!(".wincsi-link-{}", "a".repeat(32))).unwrap();
    let outside = path(r"C:\outside");
    for folder in [path(NOTES), outside.clone(), outside.join(ours.clone())] {
        tree.create_directory(&folder).unwrap();
    }
    let note = path(NOTES).join(ours.clone());
    tree.create_symlink(&note, r"C:\outside", LinkKind::Directory)
        .unwrap();
    let bounds = Bounds::resolve_roots(rig.os(), &[path(KUBELET)]);
    noting(&rig).operations().filesystem().clear_noted(&bounds);
    assert!(tree.entry(&outside.join(ours)).is_ok());
    assert_eq!(notes(&rig), 0);
}

/// Links are made all the same where notes cannot be.
#[test]
fn a_note_that_cannot_be_made_keeps_nobody_from_a_link() {
    let rig = rig();
    let node = noting(&rig);
    let fails = Rule::on("CreateSymbolicLinkW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(fails);
    map_by(&node, &rig, LINK).unwrap();
    assert_eq!(names(&rig), ["smb"]);
}
