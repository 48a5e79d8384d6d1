//! Each answer of the tables of create and delete that needs a share.

use std::fs;
use std::os::unix::fs::symlink;

use smb::{Existing, Failure, Name, Share, SharePath};
use transport::Code;
use wincsi_controller::volumes::{Created, Deleted, Error, Left, Unrecorded};

use crate::fixture::{
    Controller, Port, archive, at, base, blocked, by_rule, create, creating, delete, entries, fill,
    gone, keep, put, refused, start, stays, volume,
};
use crate::server::{PASSWORD, Samba, soon};

const RULES: [Unrecorded; 3] = [
    Unrecorded::Keep,
    Unrecorded::DeleteIfNone,
    Unrecorded::Delete,
];

/// It has room for the record that a create writes first, and none for its second.
#[test]
fn a_full_disk_is_told() {
    let samba = Samba::on_disk(4_096);
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "data");
    refused(&controller, &volume, Code::ResourceExhausted);
    let left = samba.client("recurse; ls");
    assert!(!left.contains("data") && !left.contains("pvc-1"), "{left}");
}

#[test]
fn names_that_servers_may_fold_have_their_own_records() {
    let (samba, controller) = start();
    let long = "x".repeat(255);
    let names = ["Pvc-1", "pvc-1", "nul", "a~1.volume", "pvc 1", "ä", &long];
    let each = names.iter().enumerate();
    let volumes = Vec::from_iter(each.map(|(n, name)| volume(name, &format!("v{n}"))));
    for volume in &volumes {
        assert_eq!(create(&controller, volume).unwrap(), Created::Made);
    }
    assert_eq!(entries(&samba, ".wincsi").len(), names.len());
    for volume in &volumes {
        assert_eq!(delete(&controller, &gone(volume)).unwrap(), Deleted::Gone);
    }
}

#[test]
fn what_is_missing_or_refused_is_told_apart() {
    let (samba, controller) = start();
    fs::write(at(&samba, "file"), b"x").unwrap();
    let volume = volume("pvc-1", "data");
    let here = samba.port();
    let plain = Port::plain(here);
    for (connector, path, class) in [
        (plain, "missing/team", Code::InvalidArgument),
        (plain, "file", Code::InvalidArgument),
        (plain, "file/team", Code::InvalidArgument),
        (Port(here, "none", PASSWORD), "", Code::InvalidArgument),
        (Port(here, "plain", "wrong"), "", Code::Unauthenticated),
        (Port::plain(1), "", Code::Unavailable),
        (Port(here, "readers", PASSWORD), "", Code::PermissionDenied),
    ] {
        let controller = controller.with(connector);
        let mut volume = volume.clone();
        volume.base = base(path);
        refused(&controller, &volume, class);
        // Who may only read sees that no folder is there.
        if class == Code::PermissionDenied {
            continue;
        }
        for deletion in [gone(&volume), archive(&volume)] {
            let error = controller.delete(&deletion).unwrap_err();
            assert_eq!(error.code(), class, "{error}");
        }
    }
}

#[test]
fn a_folder_without_a_record_stays() {
    for (path, name, unrecorded, is_gone) in [
        ("data", Some("data"), Unrecorded::Keep, false),
        ("data", None, Unrecorded::Keep, false),
        ("data", Some("data"), Unrecorded::DeleteIfNone, true),
        ("data", Some("data"), Unrecorded::Delete, true),
        ("ns/data", None, Unrecorded::Delete, true),
    ] {
        for has_records in [false, true] {
            let (samba, controller) = start();
            put(&samba, path);
            if has_records {
                fill(&samba, &volume("pvc-2", "other"));
            }
            let mut deletion = by_rule(&volume("pvc-1", path), unrecorded);
            deletion.name = name.map(|name| Name::new(name).unwrap());
            let left = Deleted::Left(Left::Unrecorded);
            for _ in 0..2 {
                let deleted = delete(&controller, &deletion).unwrap();
                let expected = if is_gone { &Deleted::Gone } else { &left };
                assert_eq!(&deleted, expected, "{path} {unrecorded:?}");
                assert_eq!(at(&samba, path).exists(), !is_gone);
                assert_eq!(at(&samba, "other/sub/file").exists(), has_records);
                let records = entries(&samba, ".wincsi");
                assert!(is_gone || records.len() == usize::from(has_records));
            }
        }
    }
}

#[test]
fn a_replaced_folder_stays_unless_told_otherwise() {
    for unrecorded in RULES {
        let is_gone = unrecorded == Unrecorded::Delete;
        let (samba, controller) = start();
        let volume = volume("pvc-1", "data");
        fill(&samba, &volume);
        fs::rename(at(&samba, "data"), at(&samba, "away")).unwrap();
        fs::create_dir(at(&samba, "data")).unwrap();
        let deletion = by_rule(&volume, unrecorded);
        let deleted = delete(&controller, &deletion).unwrap();
        assert_eq!(deleted == Deleted::Gone, is_gone, "{deleted:?}");
        assert_eq!(at(&samba, "data").exists(), !is_gone);
        let records: &[&str] = match unrecorded {
            Unrecorded::Keep => &[],
            Unrecorded::DeleteIfNone => &["pvc-1.volume"],
            Unrecorded::Delete => &["deleted"],
        };
        assert_eq!(entries(&samba, ".wincsi"), records);
        assert!(at(&samba, "away/sub/file").exists());
    }
}

/// Guards folders that a delete left: its answer may be lost, and it comes again.
#[test]
fn what_one_delete_left_the_next_leaves_too() {
    for unrecorded in RULES {
        for case in ["found", "found elsewhere", "shared", "records", "replaced"] {
            let (samba, controller) = start();
            let (volume, other) = (volume("pvc-1", "data"), volume("pvc-2", "DATA"));
            if case.starts_with("found") {
                put(&samba, "data");
                create(&controller, &volume).unwrap();
            } else {
                fill(&samba, &volume);
            }
            match case {
                "shared" => assert_eq!(create(&controller, &other).unwrap(), Created::Found),
                "records" => fs::create_dir(at(&samba, "data/.wincsi")).unwrap(),
                "replaced" | "found elsewhere" => {
                    fs::rename(at(&samba, "data"), at(&samba, "away")).unwrap();
                    put(&samba, "data");
                }
                _ => {}
            }
            let deletion = by_rule(&volume, unrecorded);
            if case == "replaced" && unrecorded == Unrecorded::Delete {
                continue;
            }
            for time in 0..3 {
                let deleted = delete(&controller, &deletion).unwrap();
                let text = format!("{case} {unrecorded:?} {time}: {deleted:?}");
                assert!(matches!(deleted, Deleted::Left(_)), "{text}");
                assert!(at(&samba, "data/sub/file").exists(), "{text}");
                if case == "shared" {
                    delete(&controller, &gone(&other)).unwrap();
                }
            }
            // The name can have a volume again, which takes the record over.
            let _ = fs::remove_dir(at(&samba, "data/.wincsi"));
            assert_eq!(create(&controller, &volume).unwrap(), Created::Found);
        }
    }
}

#[test]
fn an_archive_always_has_a_name() {
    let (samba, controller) = start();
    let long = "x".repeat(250);
    for name in ["archived-data", "archived-data-Pvc-1"] {
        fs::create_dir(at(&samba, name)).unwrap();
    }
    symlink("nothing", at(&samba, "archived-link")).unwrap();
    for (path, ends) in [
        ("data", r"\archived-sha256-"),
        ("link", r"\archived-link-Pvc-1"),
        (long.as_str(), r"\archived-sha256-"),
    ] {
        let volume = volume("Pvc-1", path);
        fill(&samba, &volume);
        let deleted = delete(&controller, &archive(&volume)).unwrap();
        let Deleted::Archived(Some(to)) = deleted else {
            panic!("{path}: {deleted:?}")
        };
        assert!(to.to_string().starts_with(ends), "{to}");
        let to = to.to_string().replace('\\', "/");
        assert!(at(&samba, &to[1..]).join("sub/file").exists());
    }
}

#[test]
fn a_reserved_base_folder_is_none() {
    let (samba, controller) = start();
    for path in "archived-ns x/Archived-ns .WINCSI x/.wincsi/deleted".split(' ') {
        fs::create_dir_all(at(&samba, path).join("pvc-1")).unwrap();
        let mut volume = volume("pvc-1", "pvc-1");
        volume.base = base(path);
        refused(&controller, &volume, Code::InvalidArgument);
        let deletion = by_rule(&volume, Unrecorded::DeleteIfNone);
        stays(&controller, &deletion, Left::Unrecorded);
        assert!(at(&samba, path).join("pvc-1").exists());
    }
}

#[test]
fn a_policy_that_keeps_only_forgets() {
    for reason in [Left::Retained, Left::UnknownPolicy] {
        let (samba, controller) = start();
        let volume = volume("pvc-1", "data");
        let deletion = keep(&volume, reason);
        stays(&controller, &deletion, reason);
        assert!(entries(&samba, "").is_empty());
        fill(&samba, &volume);
        stays(&controller, &deletion, reason);
        assert!(entries(&samba, ".wincsi").is_empty());
        assert!(at(&samba, "data/sub/file").exists());
        assert_eq!(*controller.left.lock().unwrap(), [reason, reason]);
    }
}

#[test]
fn what_holds_records_or_was_found_stays() {
    let (samba, controller) = start();
    fs::create_dir_all(at(&samba, "old/sub")).unwrap();
    let (holds, found) = (volume("pvc-1", "data"), volume("pvc-2", "old"));
    fill(&samba, &holds);
    fs::create_dir(at(&samba, "data/.Wincsi")).unwrap();
    assert_eq!(create(&controller, &found).unwrap(), Created::Found);
    for (volume, reason) in [(&holds, Left::HoldsRecords), (&found, Left::Found)] {
        stays(&controller, &archive(volume), reason);
    }
    assert!(at(&samba, "data/sub/file").exists() && at(&samba, "old/sub").exists());
    assert!(entries(&samba, ".wincsi").is_empty());
}

#[test]
fn a_folder_that_is_gone_is_deleted() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
    fill(&samba, &volume);
    fs::remove_dir_all(at(&samba, "data")).unwrap();
    let archived = delete(&controller, &archive(&volume)).unwrap();
    assert_eq!(archived, Deleted::Archived(None));
    assert!(entries(&samba, ".wincsi").is_empty());
}

#[test]
fn a_delete_goes_on_where_an_entry_stopped_it() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let mut other = samba.open("plain", smb::Privacy::Offered);
    let [file, held] =
        ["file", "held"].map(|it| SharePath::new(&format!("data/sub/{it}")).unwrap());
    let lock = other.lock(&held, soon()).unwrap();
    let error = blocked(&controller, &gone(&volume));
    assert!(error.contains("held"), "{error}");
    let gone_already = other.stat(&file, soon()).unwrap_err();
    assert_eq!(gone_already.failure, Failure::NotFound);
    // A new volume has the place by now.
    fill(&samba, &self::volume("pvc-2", "data"));
    // Samba does not find it any more, to remove it.
    assert!(other.close(lock, soon()).is_err());
    assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
    assert!(at(&samba, "data/sub/file").exists());
    assert!(entries(&samba, ".wincsi/deleted").is_empty());
}

#[test]
fn a_name_has_a_volume_again() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    for _ in 0..2 {
        fill(&samba, &volume);
        // What a delete leaves that is cut before its last request.
        fs::create_dir_all(at(&samba, ".wincsi/deleted/pvc-1")).unwrap();
        assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
        assert!(!at(&samba, "data").exists());
    }
    fs::create_dir_all(at(&samba, ".wincsi/deleted/pvc-1/strange")).unwrap();
    blocked(&controller, &gone(&volume));
    assert!(at(&samba, ".wincsi/deleted/pvc-1/strange").exists());
}

#[test]
fn a_repeated_create_needs_the_same_folder() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let mut share = samba.open("plain", smb::Privacy::Offered);
    let [data, away] = ["data", "away"].map(|path| SharePath::new(path).unwrap());
    let id = share.stat(&data, soon()).unwrap();
    let moved = share.rename(&data, id, &away, Existing::Refuse, soon());
    moved.unwrap();
    assert_eq!(create(&controller, &volume).unwrap(), Created::Made);
    fs::remove_dir(at(&samba, "data")).unwrap();
    fs::rename(at(&samba, "away"), at(&samba, "data")).unwrap();
    assert_eq!(create(&controller, &volume).unwrap(), Created::Found);
    stays(&controller, &gone(&volume), Left::Found);
}

#[test]
fn a_volume_that_is_being_made_keeps_its_folder() {
    for path in ["data", "data/sub", "Data"] {
        let (samba, controller) = start();
        let (volume, other) = (volume("pvc-1", "data"), volume("pvc-2", path));
        fill(&samba, &volume);
        create(&controller, &other).unwrap();
        // As a call that is cut leaves it.
        let record = at(&samba, ".wincsi/pvc-2.volume");
        fs::write(&record, creating(&fs::read_to_string(&record).unwrap())).unwrap();
        stays(&controller, &gone(&volume), Left::Shared);
        stays(&controller, &gone(&other), Left::Found);
    }
}

#[test]
fn a_volume_that_is_being_deleted_is_not_made() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let record = at(&samba, ".wincsi/pvc-1.volume");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"ready\"", "\"deleting\"")).unwrap();
    for path in ["data", "data/sub", "Data/new"] {
        let name = if path == "data" { "pvc-1" } else { "pvc-2" };
        let failed = controller.create(&self::volume(name, path)).unwrap_err();
        assert!(matches!(failed, Error::Busy(_)), "{path} {failed:?}");
    }
    assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
}
