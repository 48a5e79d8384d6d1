//! Links that were being made when a process died.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Component, Files, LinkKind, Win32, WinPath};
use os_sim::{Effect, Kill, Rule};
use wincsi_node::{
    AllowedRoots, Credentials, MapRequest, Node, Options, RemotePath, Server, SmbError,
};
use zeroize::Zeroizing;

use crate::support::{KUBELET, NodeFixture, PASSWORD, SHARE, USER, path, warnings};

const POD: &str = r"C:\var\lib\kubelet\pod";
const LINK: &str = r"C:\var\lib\kubelet\pod\smb";
const OTHER: &str = r"C:\var\lib\kubelet\pod\other";

/// The call at which a process died while making a link.
const CREATE: &str = "MSFT_SmbGlobalMapping.Create";
const RENAME: &str = "NtSetInformationFile";

fn fixture() -> NodeFixture {
    let fixture = NodeFixture::with_server();
    fixture.make_directory(POD);
    fixture
}

fn map(fixture: &NodeFixture, link: &str) -> Result<(), SmbError> {
    map_by(&fixture.node, fixture, link)
}

fn map_by(node: &Node, fixture: &NodeFixture, link: &str) -> Result<(), SmbError> {
    let remote = RemotePath::parse(SHARE).unwrap();
    let credentials = Credentials::new(USER, Zeroizing::new(PASSWORD.to_owned()));
    let resolved = fixture.resolved(link).unwrap();
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(&resolved);
    let smb = node.operations().smb();
    smb.map(&mapping, fixture.soon()).map(drop)
}

/// A node on which a process died at this operation, while it made [`LINK`].
fn after_a_death_at(operation: &str) -> NodeFixture {
    let fixture = fixture();
    let dies = Rule::on(operation, Effect::Kill(Kill::Before));
    fixture.fault(dies);
    map(&fixture, LINK).unwrap_err();
    let fixture = fixture.reopened();
    assert!(!left(&fixture).is_empty(), "{operation}");
    fixture
}

const NOTES: &str = r"C:\Program Files\notes";

/// The operations of a process that notes what it makes.
fn noting(fixture: &NodeFixture) -> Node {
    let server = Server {
        notes: Some(path(NOTES)),
        ..Server::default()
    };
    Node::in_server(fixture.os().clone(), Options::default(), server)
}

fn notes(fixture: &NodeFixture) -> usize {
    let listed = fixture.files().list(&path(NOTES));
    listed.map_or(0, |listed| listed.len())
}

fn names(fixture: &NodeFixture) -> Vec<String> {
    let listed = fixture.files().list(&path(POD)).unwrap();
    let names = listed.iter().map(|found| found.name.to_str().unwrap());
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort();
    names
}

fn left(fixture: &NodeFixture) -> Vec<String> {
    let mut names = names(fixture);
    names.retain(|name| name.starts_with(".wincsi-link-"));
    names
}

fn below(name: &str) -> WinPath {
    path(POD).join(Component::parse(name).unwrap())
}

#[test]
fn what_is_left_of_a_link_is_nobodys_link_or_folder() {
    for operation in [CREATE, RENAME] {
        let fixture = after_a_death_at(operation);
        let (files, soon) = (fixture.filesystem(), fixture.soon());
        assert!(!files.path_exists(&path(LINK), soon).unwrap());
        let [name] = left(&fixture).try_into().unwrap();
        assert!(!files.path_exists(&below(&name), soon).unwrap());
        let refused = files.is_symlink(&below(&name), soon).unwrap_err();
        assert!(refused.to_string().contains("cannot find"), "{refused}");
        map(&fixture, LINK).unwrap();
        assert_eq!(names(&fixture), ["smb"]);
        assert!(files.is_symlink(&path(LINK), soon).is_ok());
    }
}

/// Guards: P56
#[test]
fn what_is_left_of_a_link_goes_with_any_mapping_removal_or_unmounting_in_its_folder() {
    type Act = fn(&NodeFixture);
    let acts: [Act; 6] = [
        |fixture| map(fixture, OTHER).unwrap(),
        |fixture| {
            let (files, resolved) = (fixture.filesystem(), fixture.resolved(OTHER).unwrap());
            files
                .create_symlink(&path(KUBELET), resolved, fixture.soon())
                .unwrap();
        },
        |fixture| {
            let resolved = fixture.resolved(LINK).unwrap();
            let removed = fixture.filesystem().remove_entry(resolved, fixture.soon());
            removed.unwrap_err();
        },
        |fixture| {
            let resolved = fixture.resolved(OTHER).unwrap();
            fixture
                .filesystem()
                .remove_tree(resolved, fixture.soon())
                .unwrap();
        },
        |fixture| {
            let resolved = fixture.resolved(POD).unwrap();
            fixture
                .filesystem()
                .remove_contents(resolved, fixture.soon())
                .unwrap();
        },
        |fixture| {
            let volume = "\\\\?\\Volume{00000000-0000-0000-0000-000000000007}\\";
            let resolved = fixture.resolved(OTHER).unwrap();
            let unmounted =
                fixture
                    .volumes()
                    .unmount(volume.parse().unwrap(), resolved, fixture.soon());
            unmounted.unwrap_err();
        },
    ];
    for operation in [CREATE, RENAME] {
        for (number, act) in acts.iter().enumerate() {
            let fixture = after_a_death_at(operation);
            act(&fixture);
            assert!(left(&fixture).is_empty(), "{operation}, {number}");
        }
    }
}

#[test]
fn a_folder_with_nothing_but_what_is_left_of_a_link_is_removed() {
    for operation in [CREATE, RENAME] {
        let fixture = after_a_death_at(operation);
        let resolved = fixture.resolved(POD).unwrap();
        fixture
            .filesystem()
            .remove_entry(resolved, fixture.soon())
            .unwrap();
        let gone = fixture.files().entry(&path(POD)).unwrap_err();
        assert_eq!(gone.win32(), Some(Win32::FILE_NOT_FOUND));
    }
}

#[test]
fn a_mapping_that_fails_leaves_nothing() {
    let fixture = fixture();
    for operation in [CREATE, "FSCTL_SET_REPARSE_POINT", RENAME] {
        let fails = Rule::on(operation, Effect::fail(Win32::IO_DEVICE)).times(1);
        fixture.fault(fails);
        map(&fixture, LINK).unwrap_err();
        assert_eq!(names(&fixture), [""; 0], "{operation}");
    }
}

#[test]
fn what_another_owner_keeps_under_such_a_name_stays() {
    let fixture = fixture();
    let tree = fixture.files();
    let name = |digit: &str| format!(".wincsi-link-{}", digit.repeat(32));
    for name in [name("1"), name("2"), "wincsi-link-3".to_owned()] {
        tree.create_directory(&below(&name)).unwrap();
    }
    let inner = below(&name("1")).join(Component::parse("inner").unwrap());
    tree.create_directory(&inner).unwrap();
    fixture.become_junction(&below(&name("2")), r"C:\var");
    fixture.write(&below(&name("4")).to_string(), "mine");
    let before = names(&fixture);
    map(&fixture, LINK).unwrap();
    let resolved = fixture.resolved(POD).unwrap();
    let refused = fixture
        .filesystem()
        .remove_entry(resolved, fixture.soon())
        .unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
    let mut after = names(&fixture);
    after.retain(|name| name != "smb");
    assert_eq!(after, before);
}

/// Entries of the pod's folder that are named like what is left of links.
fn squat(fixture: &NodeFixture, count: u32) -> Vec<WinPath> {
    let squats = (0..count).map(|number| below(&format!(".wincsi-link-{number:032x}")));
    let squats: Vec<_> = squats.collect();
    for squat in &squats {
        fixture.files().create_directory(squat).unwrap();
    }
    squats
}

/// A caller who may write in the folder chooses how many there are.
/// Guards: P56
#[test]
fn many_that_cannot_be_removed_are_at_most_one_warning_in_a_call() {
    let fixture = fixture();
    for squat in squat(&fixture, 100) {
        let inner = squat.join(Component::parse("inner").unwrap());
        fixture.files().create_directory(&inner).unwrap();
    }
    assert_eq!(warnings::of(|| map(&fixture, LINK).unwrap()), 0);
    let remove = |at: &str| {
        let resolved = fixture.resolved(at).unwrap();
        fixture.filesystem().remove_entry(resolved, fixture.soon())
    };
    assert_eq!(warnings::of(|| remove(LINK).unwrap()), 0);
    let refused = warnings::of(|| {
        let refused = remove(POD).unwrap_err().to_string();
        assert!(refused.contains("not empty"), "{refused}");
    });
    assert_eq!(refused, 0);
    assert_eq!(left(&fixture).len(), 100);
    fixture.fail("SetFileInformationByHandle", Win32::IO_DEVICE);
    assert_eq!(warnings::of(|| map(&fixture, LINK).unwrap()), 1);
}

#[test]
fn one_call_removes_some_of_many_and_the_next_ones_the_rest() {
    let fixture = fixture();
    squat(&fixture, 100);
    map(&fixture, LINK).unwrap();
    assert_eq!(left(&fixture).len(), 36);
    map(&fixture, OTHER).unwrap();
    assert_eq!(left(&fixture).len(), 0);
}

/// By two calls that are for different links.
#[test]
fn what_is_about_to_become_a_link_is_not_taken_for_what_is_left_of_one() {
    let fixture = fixture();
    let hang = Rule::on("FSCTL_SET_REPARSE_POINT", Effect::Hang).times(1);
    let hang = fixture.fault(hang);
    let slow = {
        let (node, soon, resolved) = (
            fixture.node.clone(),
            fixture.soon(),
            fixture.resolved(LINK).unwrap(),
        );
        let files = move || {
            let files = node.operations().filesystem();
            files.create_symlink(&path(KUBELET), resolved, soon)
        };
        std::thread::spawn(files)
    };
    fixture.wait_for_hang(1);
    let (files, resolved) = (fixture.filesystem(), fixture.resolved(OTHER).unwrap());
    files
        .create_symlink(&path(KUBELET), resolved, fixture.soon())
        .unwrap();
    let resolved = fixture.resolved(POD).unwrap();
    files.remove_entry(resolved, fixture.soon()).unwrap_err();
    fixture.faults().remove(hang);
    slow.join().unwrap().unwrap();
    assert_eq!(names(&fixture), ["other", "smb"]);
}

/// At the next start nobody asks for anything in the folder, and kubelet wants it gone.
/// Guards: P56
#[test]
fn the_next_start_removes_what_was_noted() {
    // The note comes first: a death at it leaves nothing.
    for (operation, kept) in [("CreateSymbolicLinkW", 0), (CREATE, 1), (RENAME, 1)] {
        let fixture = fixture();
        let dies = Rule::on(operation, Effect::Kill(Kill::Before));
        fixture.fault(dies);
        map_by(&noting(&fixture), &fixture, LINK).unwrap_err();
        let fixture = fixture.reopened();
        assert_eq!(
            (left(&fixture).len(), notes(&fixture)),
            (kept, kept),
            "{operation}"
        );
        let allowed = AllowedRoots::resolve_roots(fixture.os(), &[path(KUBELET)]);
        noting(&fixture)
            .operations()
            .filesystem()
            .clear_noted(&allowed);
        assert_eq!(
            (names(&fixture).len(), notes(&fixture)),
            (0, 0),
            "{operation}"
        );
    }
}

#[test]
fn a_note_is_there_as_long_as_what_it_is_about() {
    let fixture = fixture();
    let node = noting(&fixture);
    let fails = Rule::on(CREATE, Effect::fail(Win32::IO_DEVICE)).times(1);
    fixture.fault(fails);
    map_by(&node, &fixture, LINK).unwrap_err();
    assert_eq!(notes(&fixture), 0);
    map_by(&node, &fixture, LINK).unwrap();
    assert_eq!(notes(&fixture), 0);
    let rights = fixture.files().dacl(&path(NOTES)).unwrap();
    assert!(
        rights.starts_with("D:P") && !rights.contains(";BU)"),
        "{rights}"
    );
}

/// A process that could write notes gets nothing removed that is not within bounds and nothing of ours.
#[test]
fn a_note_of_another_folder_removes_nothing_there() {
    let fixture = fixture();
    let tree = fixture.files();
    let ours = Component::parse(&format!(".wincsi-link-{}", "a".repeat(32))).unwrap();
    let outside = path(r"C:\outside");
    for folder in [path(NOTES), outside.clone(), outside.join(ours.clone())] {
        tree.create_directory(&folder).unwrap();
    }
    let note = path(NOTES).join(ours.clone());
    tree.create_symlink(&note, r"C:\outside", LinkKind::Directory)
        .unwrap();
    let allowed = AllowedRoots::resolve_roots(fixture.os(), &[path(KUBELET)]);
    noting(&fixture)
        .operations()
        .filesystem()
        .clear_noted(&allowed);
    assert!(tree.entry(&outside.join(ours)).is_ok());
    assert_eq!(notes(&fixture), 0);
}

/// Links are made all the same where notes cannot be.
#[test]
fn a_note_that_cannot_be_made_keeps_nobody_from_a_link() {
    let fixture = fixture();
    let node = noting(&fixture);
    fixture.fail("CreateSymbolicLinkW", Win32::ACCESS_DENIED);
    map_by(&node, &fixture, LINK).unwrap();
    assert_eq!(names(&fixture), ["smb"]);
}
