//! Links, records and names that others made.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::SystemTime;

use transport::Code;
use wincsi_controller::volumes::{Created, Deleted, Left, Policy, Unrecorded};

use crate::fixture::{
    Controller, archive, at, base, blocked, by_rule, create, delete, dress, entries, fill, gone,
    keep, nameless, refused, start, stays, volume,
};
use crate::proxy::{From, between, one, unchanged};
use crate::server::Samba;

/// Where a link may lead, from the share's own folder.
const TARGETS: [&str; 5] = ["victim", "victim/inner", ".", "victim/precious", "nothing"];

#[test]
fn a_link_in_the_folders_place_is_not_followed() {
    for target in TARGETS {
        let (samba, controller) = scene();
        let volume = volume("pvc-1", "data");
        fill(&samba, &volume);
        fs::rename(at(&samba, "data"), at(&samba, "away")).unwrap();
        symlink(target, at(&samba, "data")).unwrap();
        for policy in [Policy::Delete, Policy::Archive] {
            let mut deletion = by_rule(&volume, Unrecorded::Delete);
            deletion.policy = policy;
            match target {
                // To Samba it is a file, and what leads nowhere is not there.
                "victim/precious" | "nothing" => drop(delete(&controller, &deletion).unwrap()),
                _ => drop(blocked(&controller, &deletion)),
            }
            let is_there = at(&samba, "data").is_symlink();
            assert!(is_there && is_whole(&samba), "{target}");
        }
        assert!(at(&samba, "away/sub/file").exists());
    }
}

#[test]
fn a_link_on_the_way_or_in_a_volume_stops_a_delete() {
    for target in TARGETS {
        let (samba, controller) = scene();
        let (way, inside) = (volume("pvc-1", "a/victim"), volume("pvc-2", "b"));
        fs::create_dir(at(&samba, "victim/victim")).unwrap();
        fill(&samba, &way);
        fill(&samba, &inside);
        fs::rename(at(&samba, "a"), at(&samba, "away")).unwrap();
        symlink(target, at(&samba, "a")).unwrap();
        symlink(Path::new("../..").join(target), at(&samba, "b/sub/link")).unwrap();
        for volume in [&way, &inside] {
            let deleted = delete(&controller, &gone(volume));
            match &deleted {
                Ok(_) => assert!(["victim/precious", "nothing"].contains(&target), "{target}"),
                Err(error) => assert_eq!(error.code(), Code::FailedPrecondition, "{error}"),
            }
            let is_there = at(&samba, "victim/victim").exists();
            assert!(is_there && is_whole(&samba), "{target}");
        }
    }
}

#[test]
fn no_volume_is_made_at_a_file_or_link() {
    for target in TARGETS {
        let (samba, controller) = scene();
        symlink(target, at(&samba, "link")).unwrap();
        fs::write(at(&samba, "file"), b"x").unwrap();
        for path in ["link", "link/v", "file", "file/v"] {
            let volume = volume("pvc-1", path);
            refused(&controller, &volume, Code::FailedPrecondition);
            assert!(entries(&samba, ".wincsi").is_empty());
            assert!(is_whole(&samba) && !at(&samba, "victim/v").exists());
        }
    }
}

/// At each request of a delete once: the volume's folder, or one in it, is moved away, and a link to a victim is there.
/// No name in the victim is one in the volume: see the limit in the page of `smb::remove_content`.
/// Guards: P88
#[test]
fn a_link_put_in_a_folders_place_is_not_followed() {
    let samba = Samba::start();
    let volume = volume("pvc-1", "data");
    for place in ["data", ".wincsi/deleted/pvc-1", ".wincsi/deleted/pvc-1/sub"] {
        for number in 4.. {
            let root = samba.root();
            for name in entries(&samba, "") {
                fs::remove_dir_all(root.join(name)).unwrap();
            }
            make_victim(&samba);
            fill(&samba, &volume);
            fs::write(root.join("data/sub/other"), b"x").unwrap();
            fs::create_dir_all(root.join("data/sub/inner/deep")).unwrap();
            let here = root.clone();
            let attack = one((From::Client, number), move |message| {
                // Samba may be removing it just now, for the message before.
                if fs::rename(here.join(place), here.join("away")).is_ok() {
                    let _ = symlink(here.join("victim"), here.join(place));
                }
                unchanged(message)
            });
            let (port, count) = between(samba.port(), attack);
            let done = Controller::new(port).delete(&gone(&volume));
            assert!(is_whole(&samba), "{place} {number}: {done:?}");
            // The last swap is of a folder that is being removed: then Samba removes the link itself.
            let is_gone = place != "data" && entries(&samba, ".wincsi/deleted").is_empty();
            let is_swapped = at(&samba, "away").exists();
            assert!(done.is_err() || is_gone || !is_swapped, "{place} {number}");
            if *count.lock().unwrap() <= number {
                assert_eq!(done.unwrap(), Deleted::Gone);
                break;
            }
        }
    }
}

/// Guards: P87
#[test]
fn a_record_says_nothing_of_other_folders() {
    let (samba, controller) = scene();
    let (mine, other) = (volume("pvc-1", "data"), volume("pvc-2", "other"));
    fill(&samba, &mine);
    fill(&samba, &other);
    // As a pod whose volume is the whole share may write it: the id is right, the folder another's.
    let record = at(&samba, ".wincsi/pvc-1.volume");
    let text = fs::read_to_string(at(&samba, ".wincsi/pvc-2.volume")).unwrap();
    fs::write(&record, text.replace("pvc-2", "pvc-1")).unwrap();
    stays(&controller, &gone(&mine), Left::Unrecorded);
    // The other volume is named twice now, which keeps it.
    stays(&controller, &gone(&other), Left::Shared);
    assert!(at(&samba, "data/sub/file").exists() && at(&samba, "other/sub/file").exists());
}

#[test]
fn an_unreadable_record_stops_the_deletes_beside_it() {
    let (samba, controller) = scene();
    let (mine, other) = (volume("pvc-1", "data"), volume("pvc-2", "other"));
    fill(&samba, &mine);
    fill(&samba, &other);
    let record = at(&samba, ".wincsi/pvc-2.volume");
    let good = fs::read_to_string(&record).unwrap();
    let long = format!("{good}{}", " ".repeat(70_000));
    for bad in [
        String::new(),
        "{}".to_owned(),
        good[..good.len() - 1].to_owned(),
        good.replace("\"version\":1", "\"version\":3"),
        good.replace("pvc-2", "pvc-3"),
        good.replace("\"other\"", "\"a/../b\""),
        good.replace("\"other\"", "\"\""),
        good.replace("\"other\"", "\"x/.WINCSI\""),
        good.replace("\"size\"", "\"more\":1,\"size\""),
        long,
    ] {
        assert_ne!(bad, good);
        fs::write(&record, &bad).unwrap();
        for volume in [&mine, &other] {
            let error = blocked(&controller, &gone(volume));
            assert!(error.contains("pvc-2.volume"), "{error}");
        }
        assert_eq!(controller.create(&mine).unwrap(), Created::Made);
        let again = controller.create(&other).unwrap_err();
        assert_eq!(again.code(), Code::FailedPrecondition);
    }
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    assert!(delete(&controller, &gone(&mine)).is_err());
    fs::remove_dir(&record).unwrap();
    fs::write(&record, &good).unwrap();
    for volume in [&mine, &other] {
        assert_eq!(delete(&controller, &gone(volume)).unwrap(), Deleted::Gone);
    }
}

/// Samba then lists nothing that changed within the last hour: no record.
#[test]
fn a_list_without_the_own_record_proves_nothing() {
    let samba = Samba::with("hide new files timeout = 3600");
    let controller = Controller::new(samba.port());
    let (mine, other) = (volume("pvc-1", "data"), volume("pvc-2", "DATA"));
    fill(&samba, &mine);
    let folder = fs::File::open(at(&samba, "data")).unwrap();
    folder.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(create(&controller, &other).unwrap(), Created::Found);
    let error = blocked(&controller, &gone(&mine));
    assert!(error.contains("does not list"), "{error}");
    assert!(at(&samba, "data/sub/file").exists());
}

#[test]
fn a_record_that_changed_is_read_again() {
    let (samba, controller) = scene();
    let (mine, other) = (volume("pvc-1", "data"), volume("pvc-2", "abcdef"));
    fill(&samba, &mine);
    fill(&samba, &other);
    create(&controller, &volume("pvc-3", "third")).unwrap();
    // The same file with the same length.
    let record = at(&samba, ".wincsi/pvc-2.volume");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("abcdef", "data/x")).unwrap();
    stays(&controller, &gone(&mine), Left::Shared);
}

#[test]
fn one_folder_of_two_volumes_stays() {
    for again in ["data", "Data", "DATA"] {
        for first in [0, 1] {
            let (samba, controller) = scene();
            let volumes = [volume("pvc-1", "data"), volume("pvc-2", again)];
            fill(&samba, &volumes[0]);
            assert_eq!(create(&controller, &volumes[1]).unwrap(), Created::Found);
            let left = [Deleted::Left(Left::Shared), Deleted::Left(Left::Found)];
            let deleted = delete(&controller, &gone(&volumes[first])).unwrap();
            assert_eq!(deleted, left[first], "{again}");
            let last = delete(&controller, &gone(&volumes[1 - first])).unwrap();
            assert_eq!(last == Deleted::Gone, first == 1, "{again}");
            assert_eq!(at(&samba, "data/sub/file").exists(), first == 0, "{again}");
        }
    }
}

/// Samba's short names are compared by id alone.
#[test]
fn a_folder_is_recognised_by_its_short_name() {
    let samba = Samba::with("mangled names = yes");
    let controller = Controller::new(samba.port());
    let long = volume("pvc-1", "a long folder's name");
    fill(&samba, &long);
    let short = short_name(&samba, "a long folder's name");
    let short = short.as_str();
    for (name, path) in [
        ("pvc-2", short.to_owned()),
        ("pvc-3", format!("{short}/sub")),
    ] {
        let created = create(&controller, &volume(name, &path)).unwrap();
        assert_eq!(created, Created::Found);
    }
    stays(&controller, &nameless(&long, short), Left::Shared);
    stays(&controller, &gone(&long), Left::Shared);
    assert!(at(&samba, "a long folder's name/sub/file").exists());
}

#[test]
fn a_folder_within_counts_by_a_short_name() {
    for (recorded, direct) in [("/sub", ""), ("", "/sub")] {
        let samba = Samba::with("mangled names = yes");
        let controller = Controller::new(samba.port());
        fs::create_dir(at(&samba, "a long folder's name")).unwrap();
        let volume = volume("pvc-1", &format!("a long folder's name{recorded}"));
        create(&controller, &volume).unwrap();
        let _ = fs::create_dir(at(&samba, "a long folder's name/sub"));
        let short = short_name(&samba, "a long folder's name");
        let deletion = nameless(&volume, &format!("{short}{direct}"));
        stays(&controller, &deletion, Left::Shared);
    }
}

#[test]
fn a_folder_in_a_folder_keeps_both() {
    for first in [0, 1] {
        let (samba, controller) = scene();
        let volumes = [volume("pvc-1", "a"), volume("pvc-2", "A/b")];
        fill(&samba, &volumes[0]);
        create(&controller, &volumes[1]).unwrap();
        stays(&controller, &gone(&volumes[first]), Left::Shared);
        let last = delete(&controller, &gone(&volumes[1 - first])).unwrap();
        assert_eq!(last, Deleted::Gone);
        assert_eq!(at(&samba, "a/sub/file").exists(), first == 0);
        assert!(!at(&samba, "a/b").exists());
    }
}

#[test]
fn a_base_folder_in_a_volume_is_refused() {
    let (samba, controller) = scene();
    let outer = volume("pvc-1", "team/a");
    fill(&samba, &outer);
    let mut inner = volume("pvc-2", "data");
    for path in ["team/a", "Team/A/sub"] {
        inner.base = base(path);
        refused(&controller, &inner, Code::InvalidArgument);
        let direct = by_rule(&inner, Unrecorded::DeleteIfNone);
        assert_eq!(delete(&controller, &direct).unwrap(), Deleted::Gone);
    }
    // Nothing of these calls is in the volume, which it would keep.
    assert_eq!(delete(&controller, &gone(&outer)).unwrap(), Deleted::Gone);
    inner.base = base("team");
    fill(&samba, &inner);
    refused(&controller, &volume("pvc-3", "TEAM"), Code::InvalidArgument);
}

#[test]
fn a_base_folder_behind_a_link_is_refused() {
    let (samba, controller) = scene();
    let volume = volume("pvc-1", "a");
    fill(&samba, &volume);
    symlink("a/sub", at(&samba, "link")).unwrap();
    let mut other = self::volume("pvc-2", "data");
    other.base = base("link");
    refused(&controller, &other, Code::FailedPrecondition);
    blocked(&controller, &gone(&other));
    assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
}

/// Guards what others have in the place of `.wincsi`: a lock's file goes when it is closed.
#[test]
fn a_linked_folder_of_records_is_not_entered() {
    let (samba, controller) = scene();
    let (outer, inner) = (volume("pvc-1", "a"), volume("pvc-2", "a/b"));
    fill(&samba, &outer);
    create(&controller, &inner).unwrap();
    fs::write(at(&samba, "victim/inner/lock"), b"").unwrap();
    symlink("../victim/inner", at(&samba, "a/.wincsi")).unwrap();
    blocked(&controller, &gone(&inner));
    assert!(at(&samba, "victim/inner/lock").exists());
    fs::rename(at(&samba, ".wincsi"), at(&samba, "away")).unwrap();
    symlink("victim/inner", at(&samba, ".wincsi")).unwrap();
    refused(&controller, &volume("pvc-3", "c"), Code::FailedPrecondition);
    blocked(&controller, &gone(&outer));
    assert!(at(&samba, "victim/inner/lock").exists() && is_whole(&samba));
    assert_eq!(entries(&samba, "victim/inner"), ["lock", "precious"]);
}

#[test]
fn two_spellings_of_a_base_folder_are_one() {
    let (samba, controller) = scene();
    fs::create_dir(at(&samba, "team")).unwrap();
    let (mut first, mut second) = (volume("pvc-1", "one"), volume("pvc-2", "two"));
    first.base = base("team");
    second.base = base("Team");
    create(&controller, &first).unwrap();
    // This call reads the other's record by its own spelling.
    create(&controller, &second).unwrap();
    for volume in [&first, &second] {
        assert_eq!(delete(&controller, &gone(volume)).unwrap(), Deleted::Gone);
    }
}

#[test]
fn the_records_are_no_folder_by_any_name() {
    let samba = Samba::with("mangled names = yes");
    let controller = Controller::new(samba.port());
    fill(&samba, &volume("pvc-1", "data"));
    let short = short_name(&samba, ".wincsi");
    let mut through = volume("pvc-2", "deleted");
    through.base = base(&short);
    for volume in [volume("pvc-2", &format!("{short}/deleted")), through] {
        refused(&controller, &volume, Code::InvalidArgument);
        fs::create_dir_all(at(&samba, ".wincsi/deleted/x")).unwrap();
        for mut deletion in [gone(&volume), archive(&volume)] {
            deletion.unrecorded = Unrecorded::Delete;
            let deleted = delete(&controller, &deletion).unwrap();
            assert!(matches!(deleted, Deleted::Left(_)), "{deleted:?}");
        }
        assert!(at(&samba, ".wincsi/deleted/x").exists());
    }
}

#[test]
fn the_records_of_each_base_on_the_way_count() {
    let (samba, controller) = scene();
    fs::create_dir(at(&samba, "team")).unwrap();
    let outer = volume("pvc-1", "Team/data");
    let mut inner = volume("pvc-2", "data");
    inner.base = base("team");
    fill(&samba, &inner);
    assert_eq!(create(&controller, &outer).unwrap(), Created::Found);
    let direct = |path| nameless(&outer, path);
    stays(&controller, &direct("Team/data"), Left::Shared);
    stays(&controller, &gone(&inner), Left::Shared);
    stays(&controller, &gone(&outer), Left::Found);
    fs::create_dir(at(&samba, "all")).unwrap();
    fs::rename(at(&samba, "team"), at(&samba, "all/team")).unwrap();
    for path in ["all", "all/team"] {
        stays(&controller, &direct(path), Left::HoldsRecords);
    }
    assert!(at(&samba, "all/team/data/sub/file").exists());
}

/// Guards: P87
#[test]
fn no_archive_is_lost() {
    let (samba, controller) = scene();
    for (name, path) in [
        ("pvc-1", "archived-ns/data"),
        ("pvc-2", "archived-ns/data-pvc-2"),
        ("pvc-3", "archived-ns/data-pvc-3"),
    ] {
        let volume = volume(name, "ns/data");
        fill(&samba, &volume);
        fs::write(at(&samba, "ns/data/name"), name).unwrap();
        for _ in 0..2 {
            let deleted = delete(&controller, &archive(&volume)).unwrap();
            assert!(matches!(deleted, Deleted::Archived(_)));
        }
        let archived = fs::read_to_string(at(&samba, path).join("name"));
        assert_eq!(archived.unwrap(), name);
    }
    let names = entries(&samba, "archived-ns");
    assert_eq!(names, ["data", "data-pvc-2", "data-pvc-3"]);
    symlink("victim", at(&samba, "archived-team")).unwrap();
    let volume = volume("pvc-4", "team/data");
    fill(&samba, &volume);
    blocked(&controller, &archive(&volume));
    assert!(at(&samba, "team/data/sub/file").exists() && is_whole(&samba));
}

/// As a backup may bring it back.
#[test]
fn what_is_read_only_goes() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    let read_only = |path| {
        fs::set_permissions(at(&samba, path), PermissionsExt::from_mode(0o444)).unwrap();
    };
    fs::create_dir(at(&samba, ".wincsi")).unwrap();
    for deletion in [gone(&volume), keep(&volume, Left::Retained)] {
        // What a call leaves that is cut before its rename.
        fs::write(at(&samba, ".wincsi/pvc-1.new"), "").unwrap();
        read_only(".wincsi/pvc-1.new");
        fill(&samba, &volume);
        read_only("data/sub/file");
        read_only(".wincsi/pvc-1.volume");
        let is_gone = delete(&controller, &deletion).unwrap() == Deleted::Gone;
        assert_eq!(at(&samba, "data").exists(), !is_gone);
        assert_eq!(entries(&samba, ".wincsi"), ["deleted"]);
    }
}

/// Guards a folder that only a repeated delete removed, as its record was gone by then.
#[test]
fn a_read_only_folder_goes_with_the_first_call() {
    let samba = Samba::with("store dos attributes = yes");
    let (controller, volume) = (Controller::new(samba.port()), volume("pvc-1", "data"));
    create(&controller, &volume).unwrap();
    dress(&at(&samba, "data"), 1, SystemTime::now());
    assert_eq!(controller.delete(&gone(&volume)).unwrap(), Deleted::Gone);
    assert_eq!(entries(&samba, ".wincsi/deleted"), [""; 0]);
}

/// The name that Samba makes up for old programs.
fn short_name(samba: &Samba, name: &str) -> String {
    let output = samba.client(&format!("allinfo \"{name}\""));
    let mut lines = output.lines();
    let short = lines.find_map(|line| line.strip_prefix("altname: "));
    let short = short.unwrap_or_else(|| panic!("no short name in {output}"));
    assert!(short.contains('~'), "{short}");
    short.to_owned()
}

/// A share with a folder that must stay.
fn scene() -> (Samba, Controller) {
    let (samba, controller) = start();
    make_victim(&samba);
    (samba, controller)
}

fn make_victim(samba: &Samba) {
    fs::create_dir_all(at(samba, "victim/inner")).unwrap();
    for file in ["victim/precious", "victim/inner/precious"] {
        fs::write(at(samba, file), b"x").unwrap();
    }
}

fn is_whole(samba: &Samba) -> bool {
    let mut files = ["victim/precious", "victim/inner/precious"].iter();
    files.all(|file| at(samba, file).exists())
}
