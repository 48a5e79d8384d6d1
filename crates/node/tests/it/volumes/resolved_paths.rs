//! Ways that were resolved, and somebody who puts links on them afterwards.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use os::{Deadline, Files, LinkKind, Root, Win32, WinPath};
use os_sim::{Effect, Rule};
use wincsi_node::{AllowedRoots, MapRequest, RemotePath, ResolvedPath};

use crate::support::swap::Swap;
use crate::support::{NodeFixture, path};

const KUBELET: &str = r"C:\var\lib\kubelet";

/// A volume, the kubelet's folder with `a\b`, and a folder outside that has all the names.
fn fixture() -> (NodeFixture, Arc<AllowedRoots>) {
    let fixture = NodeFixture::with_volume();
    for folder in [
        r"C:\var\lib\kubelet\a\b",
        r"C:\outside\x\y",
        r"C:\outside\empty",
    ] {
        fixture.make_directory(folder);
    }
    fixture.write(r"C:\outside\file", "kept");
    fixture.write(r"C:\outside\x\file", "kept");
    let allowed = AllowedRoots::resolve_roots(fixture.os(), &[path(KUBELET)]);
    (fixture, allowed)
}

fn resolve(fixture: &NodeFixture, allowed: &Arc<AllowedRoots>, name: &str) -> ResolvedPath {
    let at = path(&format!(r"{KUBELET}\{name}"));
    allowed.resolve(fixture.os(), &at).unwrap()
}

fn outside(fixture: &NodeFixture) -> Vec<String> {
    let names = |at: &str| {
        let listed = fixture.files().list(&path(at)).unwrap();
        let shown = listed.into_iter().map(|found| format!("{found:?}"));
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        shown
    };
    [
        names(r"C:\outside"),
        names(r"C:\outside\x"),
        names(r"C:\outside\empty"),
    ]
    .concat()
}

/// Guards: P50
#[test]
fn a_volume_that_is_mounted_outside_as_well_is_not_inside() {
    let (fixture, allowed) = fixture();
    let file = WinPath::of_root(Root::Volume(fixture.volume()));
    let is_inside = || allowed.resolve(fixture.os(), &file).is_ok();
    assert!(!is_inside(), "mounted nowhere");
    fixture.mount_volume(fixture.volume(), r"C:\var\lib\kubelet\a\m");
    assert!(is_inside());
    fixture.mount_volume(fixture.volume(), r"C:\outside\m");
    assert!(!is_inside());
}

/// Every operation that changes something, on a way whose path has the last name.
fn changes(
    fixture: &NodeFixture,
    resolved: &ResolvedPath,
) -> Vec<(&'static str, Result<(), String>)> {
    changes_before(fixture, resolved, fixture.soon())
}

fn changes_before(
    fixture: &NodeFixture,
    resolved: &ResolvedPath,
    soon: Deadline,
) -> Vec<(&'static str, Result<(), String>)> {
    let (files, volumes) = (fixture.filesystem(), fixture.volumes());
    let remote = RemotePath::parse(crate::support::SHARE).unwrap();
    let mapping = MapRequest::of(&remote).with_link(resolved);
    let volume = fixture.volume();
    vec![
        (
            "mkdir",
            with_text_error(files.make_directory(resolved, soon)),
        ),
        (
            "remove",
            with_text_error(files.remove_entry(resolved, soon)),
        ),
        (
            "remove tree",
            with_text_error(files.remove_tree(resolved, soon)),
        ),
        (
            "remove contents",
            with_text_error(files.remove_contents(resolved, soon)),
        ),
        (
            "link",
            with_text_error(files.create_symlink(&path(KUBELET), resolved, soon)),
        ),
        (
            "mount",
            with_text_error(volumes.mount(volume, resolved, soon)),
        ),
        (
            "unmount",
            with_text_error(volumes.unmount(volume, resolved, soon)),
        ),
        (
            "map share",
            with_text_error(fixture.smb().map(&mapping, soon)),
        ),
    ]
}

/// A link may say what drivers look for in errors.
/// Guards: P20
#[test]
fn what_does_not_end_is_told_by_the_path_that_was_asked_for() {
    let (fixture, allowed) = fixture();
    let (files, tree) = (fixture.filesystem(), fixture.files());
    let target = path(r"C:\var\lib\kubelet\because it does not exist");
    tree.create_directory(&target).unwrap();
    let link = path(r"C:\var\lib\kubelet\link");
    tree.create_symlink(&link, &target.to_string(), LinkKind::Directory)
        .unwrap();
    let resolved = resolve(&fixture, &allowed, r"link\x");
    let soon = fixture.soon();
    fixture.let_pass(Duration::from_secs(7200));
    let reads = vec![
        (
            "path exists",
            with_text_error(files.path_exists(&resolved, soon)),
        ),
        (
            "is symlink",
            with_text_error(files.is_symlink(&resolved, soon)),
        ),
        (
            "of target",
            with_text_error(fixture.volumes().of_target(&resolved, soon)),
        ),
        (
            "closest",
            with_text_error(fixture.volumes().closest(&resolved, soon)),
        ),
    ];
    let outcomes = changes_before(&fixture, &resolved, soon)
        .into_iter()
        .chain(reads);
    for (what, outcome) in outcomes {
        let text = outcome.expect_err(what);
        assert!(text.ends_with("did not end before its deadline"), "{text}");
        assert!(!text.contains("because"), "{what}: {text}");
    }
}

fn with_text_error<T, E: ToString>(outcome: Result<T, E>) -> Result<(), String> {
    outcome.map(drop).map_err(|error| error.to_string())
}

/// Guards: P54
#[test]
fn a_link_that_appears_after_a_path_was_resolved_is_not_followed() {
    let (fixture, allowed) = fixture();
    for name in ["x", "file", "empty", r"x\y", r"new\deep"] {
        let resolved = resolve(&fixture, &allowed, &format!(r"a\b\{name}"));
        let tree = fixture.files();
        let victim = path(r"C:\var\lib\kubelet\a\b");
        tree.remove_directory(&victim).unwrap();
        tree.create_symlink(&victim, r"C:\outside", LinkKind::Directory)
            .unwrap();
        let before = outside(&fixture);
        for (what, outcome) in changes(&fixture, &resolved) {
            let text = outcome.expect_err(what);
            assert!(
                text.contains("encountered a reparse point"),
                "{what}: {text}"
            );
        }
        assert_eq!(outside(&fixture), before, "{name}");
        tree.remove_directory(&victim).unwrap();
        tree.create_directory(&victim).unwrap();
    }
}

/// Somebody makes the name that a call is about to make, and makes it a link.
/// Guards: P54
#[test]
fn a_link_among_the_directories_that_are_being_made_is_not_entered() {
    let (fixture, allowed) = fixture();
    let resolved = resolve(&fixture, &allowed, r"new\deep\er");
    let tree = fixture.files();
    let planted = path(r"C:\var\lib\kubelet\new");
    tree.create_symlink(&planted, r"C:\outside", LinkKind::Directory)
        .unwrap();
    let before = outside(&fixture);
    let made = fixture
        .filesystem()
        .make_directory(&resolved, fixture.soon());
    let text = made.unwrap_err().to_string();
    assert!(text.contains("encountered a reparse point"), "{text}");
    assert_eq!(outside(&fixture), before);
}

/// Two drivers stage at once, and both are the first to need `globalmount`.
#[test]
fn a_directory_that_somebody_makes_once_it_was_missed_is_in_nobodys_way() {
    let (fixture, allowed) = fixture();
    let meanwhile = Swap::made_once_missed(&fixture, path(r"C:\var\lib\kubelet\new"));
    let deep = path(r"C:\var\lib\kubelet\new\deep");
    let resolved = allowed.resolve(meanwhile.node.os(), &deep).unwrap();
    assert!(meanwhile.has_swapped());
    let files = meanwhile.node.operations().filesystem();
    files.make_directory(&resolved, fixture.soon()).unwrap();
    assert!(fixture.files().leads_to_directory(&deep).unwrap());
}

/// And what is below it is missing as before, not hidden by something.
#[test]
fn a_directory_that_somebody_makes_once_it_was_missed_hides_nothing() {
    let (fixture, allowed) = fixture();
    let resolved = resolve(&fixture, &allowed, r"new\deep");
    let meanwhile = Swap::made_once_missed(&fixture, path(r"C:\var\lib\kubelet\new"));
    let found = meanwhile
        .node
        .operations()
        .volumes()
        .of_target(&resolved, fixture.soon());
    assert!(meanwhile.has_swapped());
    let text = found.unwrap_err().to_string();
    assert!(text.contains("because it does not exist"), "{text}");
}

/// Guards: P54
#[test]
fn what_lies_between_stays_in_place_while_something_is_changed() {
    let (fixture, allowed) = fixture();
    let resolved = resolve(&fixture, &allowed, r"a\b\x");
    let hang = fixture.hang("FSCTL_SET_REPARSE_POINT");
    let maker = {
        let (node, soon) = (fixture.node.clone(), fixture.soon());
        std::thread::spawn(move || {
            node.operations()
                .filesystem()
                .create_symlink(&path(KUBELET), &resolved, soon)
        })
    };
    fixture.wait_for_hang(1);
    for held in [KUBELET, r"C:\var\lib\kubelet\a", r"C:\var\lib\kubelet\a\b"] {
        let removed = fixture.files().remove_directory(&path(held)).unwrap_err();
        let is_held = [Win32::SHARING_VIOLATION, Win32::DIR_NOT_EMPTY];
        assert!(
            is_held.contains(&removed.win32().unwrap()),
            "{held}: {removed}"
        );
    }
    fixture.faults().remove(hang);
    maker.join().unwrap().unwrap();
    let free = path(r"C:\var\lib\kubelet\a\b\x");
    fixture.files().remove_directory(&free).unwrap();
    fixture
        .files()
        .remove_directory(&path(r"C:\var\lib\kubelet\a\b"))
        .unwrap();
}

/// An empty directory can become a junction while it is held. Its entries are reached through the
/// directory itself, so neither removals nor new entries are redirected.
/// Guards: P54
#[test]
fn a_directory_that_becomes_a_junction_while_it_is_held_leads_nothing_away() {
    for (operation, is_removal) in [
        ("SetFileInformationByHandle", true),
        ("NtCreateFile", false),
    ] {
        let (fixture, allowed) = fixture();
        let victim = path(r"C:\var\lib\kubelet\a\b");
        let target = victim.join(os::Component::parse("empty").unwrap());
        if is_removal {
            fixture.files().create_directory(&target).unwrap();
        }
        let resolved = resolve(&fixture, &allowed, r"a\b\empty");
        let rule = Rule::on(operation, Effect::Hang).object("*empty");
        let hang = fixture.fault(rule);
        let caller = {
            let (node, soon) = (fixture.node.clone(), fixture.soon());
            std::thread::spawn(move || match is_removal {
                true => node.operations().filesystem().remove_tree(&resolved, soon),
                false => node
                    .operations()
                    .filesystem()
                    .make_directory(&resolved, soon),
            })
        };
        fixture.wait_for_hang(1);
        let _ = fixture.files().remove_directory(&target);
        fixture.become_junction(&victim, r"C:\outside");
        let before = outside(&fixture);
        fixture.faults().remove(hang);
        let text = caller.join().unwrap().unwrap_err().to_string();
        assert!(
            text.contains("encountered a reparse point"),
            "{operation}: {text}"
        );
        assert_eq!(outside(&fixture), before);
    }
}

/// Others delete these folders while we look: a look must not stand in their way.
#[test]
fn a_look_holds_nothing() {
    let (fixture, allowed) = fixture();
    let resolved = resolve(&fixture, &allowed, r"a\b");
    let reads = fixture.trace(|| {
        let _ = fixture.filesystem().path_exists(&resolved, fixture.soon());
        let _ = fixture.filesystem().is_symlink(&resolved, fixture.soon());
        let _ = fixture.volumes().of_target(&resolved, fixture.soon());
    });
    let holds = |op: &os_sim::Op| op.operation == "CreateFileW";
    assert!(!reads.is_empty() && !reads.iter().any(holds), "{reads:?}");
}

/// The start warns of them: a kubelet whose `pods` lie on another drive is refused every call there.
#[test]
fn links_right_below_a_folder_that_lead_out_are_listed() {
    let (fixture, _) = fixture();
    fixture.junction(r"C:\var\lib\kubelet\pods", r"C:\outside");
    let tree = fixture.files();
    for (name, target) in [("in", r"C:\var\lib\kubelet\a"), ("out", r"C:\outside\x")] {
        let link = path(&format!(r"C:\var\lib\kubelet\{name}"));
        tree.create_symlink(&link, target, LinkKind::Directory)
            .unwrap();
    }
    let allowed = AllowedRoots::resolve_roots(fixture.os(), &[path(KUBELET)]);
    let mut found = allowed.links_out(fixture.os());
    found.sort_by_key(|(link, _)| link.to_string());
    let expected = [("out", r"C:\outside\x"), ("pods", r"C:\outside")];
    let link = |name: &str| path(&format!(r"{KUBELET}\{name}"));
    let expected = expected.map(|(name, target)| (link(name), path(target)));
    assert_eq!(found, expected);
}

#[test]
fn a_link_where_a_folder_was_missing_is_found() {
    let (fixture, _) = fixture();
    let tree = fixture.files();
    let allowed =
        AllowedRoots::resolve_roots(fixture.os(), &[path(KUBELET), path(r"C:\later\work")]);
    assert_eq!(allowed.late_link(fixture.os()), Ok(None));
    tree.create_directory(&path(r"C:\later")).unwrap();
    assert_eq!(allowed.late_link(fixture.os()), Ok(None));
    let work = path(r"C:\later\work");
    tree.create_symlink(&work, r"C:\outside", LinkKind::Directory)
        .unwrap();
    assert_eq!(allowed.late_link(fixture.os()), Ok(Some(work)));
}
