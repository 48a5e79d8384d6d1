//! Ways that were resolved, and somebody who puts links on them afterwards.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use os::{Deadline, Files, LinkKind, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::{Bounds, MapRequest, RemotePath, Way};

use crate::support::swap::Swap;
use crate::support::{Rig, path};

const KUBELET: &str = r"C:\var\lib\kubelet";

/// A volume, the kubelet's folder with `a\b`, and a folder outside that has all the names.
fn scene() -> (Rig, Arc<Bounds>) {
    let rig = Rig::with_volume();
    for folder in [
        r"C:\var\lib\kubelet\a\b",
        r"C:\outside\x\y",
        r"C:\outside\empty",
    ] {
        let made = rig.filesystem().make_directory(&path(folder), rig.soon());
        made.unwrap();
    }
    rig.write(r"C:\outside\file", "kept");
    rig.write(r"C:\outside\x\file", "kept");
    let bounds = Bounds::resolve_roots(rig.os(), &[path(KUBELET)]);
    (rig, bounds)
}

fn resolved(rig: &Rig, bounds: &Arc<Bounds>, name: &str) -> Way {
    let at = path(&format!(r"{KUBELET}\{name}"));
    bounds.resolve(rig.os(), &at).unwrap()
}

fn outside(rig: &Rig) -> Vec<String> {
    let names = |at: &str| {
        let listed = rig.sim.files().list(&path(at)).unwrap();
        let told = listed.into_iter().map(|found| format!("{found:?}"));
        let mut told: Vec<_> = told.collect();
        told.sort();
        told
    };
    [
        names(r"C:\outside"),
        names(r"C:\outside\x"),
        names(r"C:\outside\empty"),
    ]
    .concat()
}

/// Every operation that changes something, on a way whose path has the last name.
fn changes(rig: &Rig, way: &Way) -> Vec<(&'static str, Result<(), String>)> {
    changes_before(rig, way, rig.soon())
}

fn changes_before(rig: &Rig, way: &Way, soon: Deadline) -> Vec<(&'static str, Result<(), String>)> {
    let (files, volumes) = (rig.filesystem(), rig.volumes());
    let remote = RemotePath::parse(crate::support::SHARE).unwrap();
    let mapping = MapRequest::of(&remote).with_link(way);
    let volume = rig.volume();
    vec![
        ("mkdir", told(files.make_directory(way, soon))),
        ("remove", told(files.remove_entry(way, soon))),
        ("remove tree", told(files.remove_tree(way, soon))),
        ("remove contents", told(files.remove_contents(way, soon))),
        (
            "link",
            told(files.create_symlink(&path(KUBELET), way, soon)),
        ),
        ("mount", told(volumes.mount(volume, way, soon))),
        ("unmount", told(volumes.unmount(volume, way, soon))),
        ("map share", told(rig.smb().map(&mapping, soon))),
    ]
}

/// A link may say what drivers look for in errors.
#[test]
fn what_does_not_end_is_told_by_the_path_that_was_asked_for() {
    let (rig, bounds) = scene();
    let (files, tree) = (rig.filesystem(), rig.sim.files());
    let target = path(r"C:\var\lib\kubelet\because it does not exist");
    tree.create_directory(&target).unwrap();
    let link = path(r"C:\var\lib\kubelet\link");
    tree.create_symlink(&link, &target.to_string(), LinkKind::Directory)
        .unwrap();
    let way = resolved(&rig, &bounds, r"link\x");
    let soon = rig.soon();
    rig.os().clock.sleep(Duration::from_secs(7200));
    let looks = vec![
        ("path exists", told(files.path_exists(&way, soon))),
        ("is symlink", told(files.is_symlink(&way, soon))),
        ("of target", told(rig.volumes().of_target(&way, soon))),
        ("closest", told(rig.volumes().closest(&way, soon))),
    ];
    let outcomes = changes_before(&rig, &way, soon).into_iter().chain(looks);
    for (what, outcome) in outcomes {
        let text = outcome.expect_err(what);
        assert!(text.ends_with("did not end before its deadline"), "{text}");
        assert!(!text.contains("because"), "{what}: {text}");
    }
}

fn told<T, E: ToString>(outcome: Result<T, E>) -> Result<(), String> {
    outcome.map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_link_that_appears_after_a_path_was_resolved_is_not_followed() {
    let (rig, bounds) = scene();
    for name in ["x", "file", "empty", r"x\y", r"new\deep"] {
        let way = resolved(&rig, &bounds, &format!(r"a\b\{name}"));
        let tree = rig.sim.files();
        let victim = path(r"C:\var\lib\kubelet\a\b");
        tree.remove_directory(&victim).unwrap();
        tree.create_symlink(&victim, r"C:\outside", LinkKind::Directory)
            .unwrap();
        let before = outside(&rig);
        for (what, outcome) in changes(&rig, &way) {
            let text = outcome.expect_err(what);
            assert!(
                text.contains("encountered a reparse point"),
                "{what}: {text}"
            );
        }
        assert_eq!(outside(&rig), before, "{name}");
        tree.remove_directory(&victim).unwrap();
        tree.create_directory(&victim).unwrap();
    }
}

/// Somebody makes the name that a call is about to make, and makes it a link.
#[test]
fn a_link_among_the_directories_that_are_being_made_is_not_entered() {
    let (rig, bounds) = scene();
    let way = resolved(&rig, &bounds, r"new\deep\er");
    let tree = rig.sim.files();
    let planted = path(r"C:\var\lib\kubelet\new");
    tree.create_symlink(&planted, r"C:\outside", LinkKind::Directory)
        .unwrap();
    let before = outside(&rig);
    let made = rig.filesystem().make_directory(&way, rig.soon());
    let text = made.unwrap_err().to_string();
    assert!(text.contains("encountered a reparse point"), "{text}");
    assert_eq!(outside(&rig), before);
}

/// Two drivers stage at once, and both are the first to need `globalmount`.
#[test]
fn a_directory_that_somebody_makes_once_it_was_missed_is_in_nobodys_way() {
    let (rig, bounds) = scene();
    let meanwhile = Swap::made_once_missed(&rig, path(r"C:\var\lib\kubelet\new"));
    let deep = path(r"C:\var\lib\kubelet\new\deep");
    let way = bounds.resolve(meanwhile.node.os(), &deep).unwrap();
    assert!(meanwhile.has_swapped());
    let files = meanwhile.node.operations().filesystem();
    files.make_directory(&way, rig.soon()).unwrap();
    assert!(rig.sim.files().leads_to_directory(&deep).unwrap());
}

/// And what is below it is missing as before, not hidden by something.
#[test]
fn a_directory_that_somebody_makes_once_it_was_missed_hides_nothing() {
    let (rig, bounds) = scene();
    let way = resolved(&rig, &bounds, r"new\deep");
    let meanwhile = Swap::made_once_missed(&rig, path(r"C:\var\lib\kubelet\new"));
    let found = meanwhile
        .node
        .operations()
        .volumes()
        .of_target(&way, rig.soon());
    assert!(meanwhile.has_swapped());
    let text = found.unwrap_err().to_string();
    assert!(text.contains("because it does not exist"), "{text}");
}

#[test]
fn what_lies_between_stays_in_place_while_something_is_changed() {
    let (rig, bounds) = scene();
    let way = resolved(&rig, &bounds, r"a\b\x");
    let hang = rig
        .sim
        .faults()
        .add(Rule::on("FSCTL_SET_REPARSE_POINT", Effect::Hang));
    let maker = {
        let (node, soon) = (rig.node.clone(), rig.soon());
        std::thread::spawn(move || {
            node.operations()
                .filesystem()
                .create_symlink(&path(KUBELET), &way, soon)
        })
    };
    assert!(
        rig.sim
            .faults()
            .wait_until_hanging(1, Duration::from_secs(60))
    );
    for held in [KUBELET, r"C:\var\lib\kubelet\a", r"C:\var\lib\kubelet\a\b"] {
        let removed = rig.sim.files().remove_directory(&path(held)).unwrap_err();
        let is_held = [Win32::SHARING_VIOLATION, Win32::DIR_NOT_EMPTY];
        assert!(
            is_held.contains(&removed.win32().unwrap()),
            "{held}: {removed}"
        );
    }
    rig.sim.faults().remove(hang);
    maker.join().unwrap().unwrap();
    let free = path(r"C:\var\lib\kubelet\a\b\x");
    rig.sim.files().remove_directory(&free).unwrap();
    rig.sim
        .files()
        .remove_directory(&path(r"C:\var\lib\kubelet\a\b"))
        .unwrap();
}

/// An empty directory can be made a junction while it is held. Its entries are reached by the
/// directory itself, so nothing is led away: neither what is removed nor what is made.
#[test]
fn a_directory_that_becomes_a_junction_while_it_is_held_leads_nothing_away() {
    for (operation, is_removal) in [
        ("SetFileInformationByHandle", true),
        ("NtCreateFile", false),
    ] {
        let (rig, bounds) = scene();
        let victim = path(r"C:\var\lib\kubelet\a\b");
        let target = victim.join(os::Component::parse("empty").unwrap());
        if is_removal {
            rig.sim.files().create_directory(&target).unwrap();
        }
        let way = resolved(&rig, &bounds, r"a\b\empty");
        let rule = Rule::on(operation, Effect::Hang).object("*empty");
        let hang = rig.sim.faults().add(rule);
        let caller = {
            let (node, soon) = (rig.node.clone(), rig.soon());
            std::thread::spawn(move || match is_removal {
                true => node.operations().filesystem().remove_tree(&way, soon),
                false => node.operations().filesystem().make_directory(&way, soon),
            })
        };
        assert!(
            rig.sim
                .faults()
                .wait_until_hanging(1, Duration::from_secs(60))
        );
        let _ = rig.sim.files().remove_directory(&target);
        rig.become_junction(&victim, r"C:\outside");
        let before = outside(&rig);
        rig.sim.faults().remove(hang);
        let text = caller.join().unwrap().unwrap_err().to_string();
        assert!(
            text.contains("encountered a reparse point"),
            "{operation}: {text}"
        );
        assert_eq!(outside(&rig), before);
    }
}

/// Others delete these folders while we look: a look must not stand in their way.
#[test]
fn a_look_holds_nothing() {
    let (rig, bounds) = scene();
    let way = resolved(&rig, &bounds, r"a\b");
    let looks = rig.trace(|| {
        let _ = rig.filesystem().path_exists(&way, rig.soon());
        let _ = rig.filesystem().is_symlink(&way, rig.soon());
        let _ = rig.volumes().of_target(&way, rig.soon());
    });
    let holds = |op: &os_sim::Op| op.operation == "CreateFileW";
    assert!(!looks.is_empty() && !looks.iter().any(holds), "{looks:?}");
}

/// The start warns of them: a kubelet whose `pods` lie on another drive is refused every call there.
#[test]
fn links_right_below_a_folder_that_lead_out_are_listed() {
    let (rig, _) = scene();
    rig.junction(r"C:\var\lib\kubelet\pods", r"C:\outside");
    let tree = rig.sim.files();
    for (name, target) in [("in", r"C:\var\lib\kubelet\a"), ("out", r"C:\outside\x")] {
        let link = path(&format!(r"C:\var\lib\kubelet\{name}"));
        tree.create_symlink(&link, target, LinkKind::Directory)
            .unwrap();
    }
    let bounds = Bounds::resolve_roots(rig.os(), &[path(KUBELET)]);
    let mut found = bounds.links_out(rig.os());
    found.sort_by_key(|(link, _)| link.to_string());
    let expected = [("out", r"C:\outside\x"), ("pods", r"C:\outside")];
    let link = |name: &str| path(&format!(r"{KUBELET}\{name}"));
    let expected = expected.map(|(name, target)| (link(name), path(target)));
    assert_eq!(found, expected);
}

#[test]
fn a_link_where_a_folder_was_missing_is_found() {
    let (rig, _) = scene();
    let tree = rig.sim.files();
    let bounds = Bounds::resolve_roots(rig.os(), &[path(KUBELET), path(r"C:\later\work")]);
    assert_eq!(bounds.late_link(rig.os()), Ok(None));
    tree.create_directory(&path(r"C:\later")).unwrap();
    assert_eq!(bounds.late_link(rig.os()), Ok(None));
    let work = path(r"C:\later\work");
    tree.create_symlink(&work, r"C:\outside", LinkKind::Directory)
        .unwrap();
    assert_eq!(bounds.late_link(rig.os()), Ok(Some(work)));
}
