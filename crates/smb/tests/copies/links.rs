use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::Ordering;

use wincsi_smb::Failure;

use crate::fixture::{Fixture, copy, once};

#[test]
fn no_link_is_followed() {
    for place in ["v/nested/l", "copies/c/nested", "v", "copies/c"] {
        for target in [
            "victim/sub",
            "copies/other/sub",
            "v/nested/deeper/d\u{e9}epest",
        ] {
            let fixture = Fixture::with_each_kind();
            let root = fixture.samba.root();
            fs::create_dir_all(root.join(target)).unwrap();
            if root.join(place).exists() {
                fs::rename(root.join(place), root.join("away")).unwrap();
            }
            let target = target.replace("v/", if place == "v" { "away/" } else { "v/" });
            symlink(root.join(&target), root.join(place)).unwrap();
            let refused = copy(&mut fixture.open()).unwrap_err();
            let what = format!("{place} to {target}: {refused}");
            assert_eq!(refused.failure, Failure::Link, "{what}");
            assert!(fixture.is_victim_whole(), "{what}");
            let is_empty = fs::read_dir(fixture.target()).unwrap().next().is_none();
            assert!(is_empty || place.starts_with("copies/c"), "{what}");
        }
    }
}

/// Its `..` is that of its folder.
#[test]
fn a_link_to_a_folder_beside_it_is_named() {
    let fixture = Fixture::with_each_kind();
    for (place, target) in [("nested/l", "deeper"), ("l", "nested")] {
        let link = fixture.source().join(place);
        symlink(target, &link).unwrap();
        let refused = copy(&mut fixture.open()).unwrap_err();
        assert_eq!(refused.failure, Failure::Link, "{refused}");
        let beside = link.with_file_name(target);
        let is_named = [&link, &beside].iter().any(|path| {
            let path = path.strip_prefix(fixture.samba.root()).unwrap();
            refused
                .object
                .ends_with(&path.to_str().unwrap().replace('/', r"\"))
        });
        assert!(is_named, "{refused}");
        assert_eq!(fs::read_dir(fixture.target()).unwrap().count(), 0);
        fs::remove_file(&link).unwrap();
    }
    // Samba does not list it.
    let dangling = fixture.source().join("dangling");
    symlink("none", &dangling).unwrap();
    copy(&mut fixture.open()).unwrap();
    fixture.assert_equal("without the link");
}

/// At each request once, a folder of the source or of the copy is moved away, and a link to the victim is in its place.
/// Guards: P88
#[test]
fn a_link_put_in_a_folders_place_is_not_followed() {
    for (place, is_repeated) in [
        ("v/d", false),
        ("copies/c/d", false),
        ("copies/c/e", false),
        ("copies/c/d", true),
    ] {
        let fixture = with_folders();
        let root = fixture.samba.root();
        let mut lost = 0;
        for number in 0.. {
            fixture.clear();
            if is_repeated {
                copy_stale(&fixture);
            }
            let here = root.clone();
            let (attack, is_done) = once(number, move || {
                if here.join(place).is_dir() {
                    fs::rename(here.join(place), here.join("away")).unwrap();
                    symlink(here.join("victim"), here.join(place)).unwrap();
                }
            });
            let done = copy(&mut fixture.attacked(attack));
            let failed = done.as_ref().err();
            let what = format!("{place} {is_repeated}, request {number}: {failed:?}");
            if !fixture.is_victim_whole() {
                lost += 1;
                fs::write(root.join("victim/precious"), b"data").unwrap();
            }
            // Samba removes by path: what is stale goes behind a link that comes between its look and its close.
            assert!(lost <= if is_repeated { 2 } else { 0 }, "{what}");
            let made = fs::remove_dir(root.join("victim/empty"));
            assert!(made.is_err() || done.is_err(), "{what}");
            let copied = fs::read(fixture.target().join("d/precious"));
            assert!(
                place != "v/d" || !copied.is_ok_and(|copied| copied == b"data"),
                "{what}"
            );
            if !is_done.load(Ordering::SeqCst) {
                done.unwrap();
                assert!(number > 20, "{number}");
                break;
            }
            if root.join("away").exists() {
                fs::remove_file(root.join(place)).unwrap();
                fs::rename(root.join("away"), root.join(place)).unwrap();
            }
            for left in ["other", "large", "sub/deep"] {
                let _ = fs::remove_file(root.join("victim").join(left));
            }
        }
    }
}

/// Samba shows a link of DFS as a reparse point.
#[test]
fn a_reparse_point_is_named() {
    let fixture = Fixture::new("msdfs root = yes\n");
    fixture.file("before", 9);
    fixture.folder("nested");
    symlink(r"msdfs:127.0.0.1\none", fixture.source().join("nested/l")).unwrap();
    let refused = copy(&mut fixture.open()).unwrap_err();
    assert_eq!(refused.failure, Failure::Link, "{refused}");
    assert!(refused.object.ends_with(r"\v\nested\l"), "{refused}");
    assert_eq!(fs::read_dir(fixture.target()).unwrap().count(), 0);
}

fn with_folders() -> Fixture {
    let fixture = Fixture::new("");
    fixture.folder("d/sub");
    fixture.folder("e/empty");
    for file in ["d/precious", "d/other", "d/sub/more", "d/sub/deep"] {
        fixture.file(file, 5);
    }
    fixture.file("d/large", 70_000);
    fixture
}

/// A copy in which some files are not the source's any more.
fn copy_stale(fixture: &Fixture) {
    copy(&mut fixture.open()).unwrap();
    for file in ["d/precious", "d/large"] {
        fs::write(fixture.target().join(file), b"stale").unwrap();
    }
}
