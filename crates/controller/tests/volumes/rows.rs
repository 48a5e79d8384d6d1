//! Each answer of the tables of create and delete that needs a share.

use std::fs;
use std::os::unix::fs::symlink;

use smb::{Existing, Failure, Name, Share, SharePath};
use wincsi_controller::volumes::{
    Class, Create, Created, Deleted, Error, Left, Leftover, Policy, Unrecorded,
};

use crate::fixture::{
    Controller, Port, archive, at, base, create, delete, entries, fill, folder, gone, volume,
};
use crate::server::{PASSWORD, Samba, soon};

#[test]
fn a_name_has_one_size_folder_and_place() {
    let samba = Samba::start();
    fs::create_dir(at(&samba, "team")).unwrap();
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "data");
    create(&controller, &volume).unwrap();
    let mut others = vec![volume.clone(); 4];
    others[0].size += 1;
    others[1]
        .parameters
        .insert("onDelete".to_owned(), "retain".to_owned());
    others[2].folder = folder("DATA");
    others[3].base = base("team");
    for other in &others {
        let failed = controller.create(other).unwrap_err();
        assert_eq!(failed.error.class(), Class::Exists, "{failed:?}");
        assert_eq!(failed.leftover, Leftover::Possible);
    }
    assert_eq!(create(&controller, &volume).unwrap(), Created::Made);
    assert_eq!(entries(&samba, ""), [".wincsi", "data", "team"]);
}

#[test]
fn names_that_servers_may_fold_have_their_own_records() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    let long = "x".repeat(255);
    let names = ["Pvc-1", "pvc-1", "nul", "a~1.volume", "pvc 1", "ä", &long];
    let volumes: Vec<Create> = names
        .iter()
        .enumerate()
        .map(|(n, name)| volume(name, &format!("v{n}")))
        .collect();
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
    let samba = Samba::start();
    fs::write(at(&samba, "file"), b"x").unwrap();
    let (controller, volume) = (Controller::new(samba.port()), volume("pvc-1", "data"));
    let port = |port, share, password| Port {
        port,
        share,
        password,
    };
    let here = |path| (port(samba.port(), "plain", PASSWORD), base(path));
    for ((connector, base), class) in [
        (here("missing/team"), Class::Invalid),
        (here("file"), Class::Invalid),
        (here("file/team"), Class::Invalid),
        (
            (port(samba.port(), "none", PASSWORD), base("")),
            Class::Invalid,
        ),
        (
            (port(samba.port(), "plain", "wrong"), base("")),
            Class::LogonRefused,
        ),
        ((port(1, "plain", PASSWORD), base("")), Class::Unavailable),
    ] {
        let controller = controller.with(connector);
        let volume = Create {
            base,
            ..volume.clone()
        };
        let failed = controller.create(&volume).unwrap_err();
        assert_eq!(failed.error.class(), class, "{failed:?}");
        assert_eq!(failed.leftover, Leftover::Nothing);
        for deletion in [gone(&volume), archive(&volume)] {
            let error = controller.delete(&deletion).unwrap_err();
            assert_eq!(error.class(), class, "{error}");
        }
    }
    let readers = controller.with(port(samba.port(), "readers", PASSWORD));
    let failed = readers.create(&volume).unwrap_err();
    assert_eq!(failed.error.class(), Class::Denied, "{failed:?}");
    assert_eq!(failed.leftover, Leftover::Nothing);
}

#[test]
fn a_folder_without_a_record_stays() {
    for (path, name, unrecorded, gone_of) in [
        ("data", Some("data"), Unrecorded::Keep, None),
        ("data", None, Unrecorded::Keep, None),
        ("data", Some("data"), Unrecorded::DeleteIfNone, Some("data")),
        ("data", Some("data"), Unrecorded::Delete, Some("data")),
        ("ns/data", None, Unrecorded::Delete, Some("ns/data")),
    ] {
        for has_records in [false, true] {
            let samba = Samba::start();
            fs::create_dir_all(at(&samba, path).join("sub")).unwrap();
            let controller = Controller::new(samba.port());
            if has_records {
                fill(&samba, &volume("pvc-2", "other"));
            }
            let mut deletion = gone(&volume("pvc-1", path));
            deletion.name = name.map(|name| Name::new(name).unwrap());
            deletion.unrecorded = unrecorded;
            let deleted = delete(&controller, &deletion).unwrap();
            let expected = match gone_of {
                Some(_) => Deleted::Gone,
                None => Deleted::Left(Left::Unrecorded),
            };
            assert_eq!(deleted, expected, "{path} {unrecorded:?}");
            assert_eq!(at(&samba, path).exists(), gone_of.is_none());
            assert_eq!(at(&samba, "other/sub/file").exists(), has_records);
            let records = entries(&samba, ".wincsi");
            assert!(gone_of.is_some() || records.len() == usize::from(has_records));
            let again = delete(&controller, &deletion).unwrap();
            assert_eq!(again, expected);
        }
    }
}

#[test]
fn a_replaced_folder_stays_unless_told_otherwise() {
    for (unrecorded, is_gone) in [
        (Unrecorded::Keep, false),
        (Unrecorded::DeleteIfNone, false),
        (Unrecorded::Delete, true),
    ] {
        let samba = Samba::start();
        let controller = Controller::new(samba.port());
        let volume = volume("pvc-1", "data");
        fill(&samba, &volume);
        fs::rename(at(&samba, "data"), at(&samba, "away")).unwrap();
        fs::create_dir(at(&samba, "data")).unwrap();
        let mut deletion = gone(&volume);
        deletion.unrecorded = unrecorded;
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
    for unrecorded in [
        Unrecorded::Keep,
        Unrecorded::DeleteIfNone,
        Unrecorded::Delete,
    ] {
        for case in ["found", "found elsewhere", "shared", "records", "replaced"] {
            let samba = Samba::start();
            let controller = Controller::new(samba.port());
            let (volume, other) = (volume("pvc-1", "data"), volume("pvc-2", "DATA"));
            if case.starts_with("found") {
                fs::create_dir_all(at(&samba, "data/sub")).unwrap();
                fs::write(at(&samba, "data/sub/file"), b"x").unwrap();
                create(&controller, &volume).unwrap();
            } else {
                fill(&samba, &volume);
            }
            match case {
                "shared" => assert_eq!(create(&controller, &other).unwrap(), Created::Found),
                "records" => fs::create_dir(at(&samba, "data/.wincsi")).unwrap(),
                "replaced" | "found elsewhere" => {
                    fs::rename(at(&samba, "data"), at(&samba, "away")).unwrap();
                    fs::create_dir_all(at(&samba, "data/sub")).unwrap();
                    fs::write(at(&samba, "data/sub/file"), b"x").unwrap();
                }
                _ => {}
            }
            let mut deletion = gone(&volume);
            deletion.unrecorded = unrecorded;
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
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
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
            panic!("{path}: {deleted:?}");
        };
        assert!(to.to_string().starts_with(ends), "{to}");
        let to = to.to_string().replace('\\', "/");
        assert!(at(&samba, &to[1..]).join("sub/file").exists());
    }
}

#[test]
fn a_reserved_base_folder_is_none() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    for path in [
        "archived-ns",
        "x/Archived-ns",
        ".WINCSI",
        "x/.wincsi/deleted",
    ] {
        fs::create_dir_all(at(&samba, path).join("pvc-1")).unwrap();
        let mut volume = volume("pvc-1", "pvc-1");
        volume.base = base(path);
        let failed = controller.create(&volume).unwrap_err();
        assert_eq!(failed.error.class(), Class::Invalid, "{path}");
        let mut deletion = gone(&volume);
        deletion.unrecorded = Unrecorded::DeleteIfNone;
        let deleted = controller.delete(&deletion).unwrap();
        assert_eq!(deleted, Deleted::Left(Left::Unrecorded), "{path}");
        assert!(at(&samba, path).join("pvc-1").exists());
    }
}

#[test]
fn a_policy_that_keeps_only_forgets() {
    for reason in [Left::Retained, Left::UnknownPolicy] {
        let samba = Samba::start();
        let controller = Controller::new(samba.port());
        let volume = volume("pvc-1", "data");
        let mut deletion = gone(&volume);
        deletion.policy = Policy::Keep(reason);
        assert_eq!(controller.delete(&deletion).unwrap(), Deleted::Left(reason));
        assert!(entries(&samba, "").is_empty());
        fill(&samba, &volume);
        assert_eq!(controller.delete(&deletion).unwrap(), Deleted::Left(reason));
        assert!(entries(&samba, ".wincsi").is_empty());
        assert!(at(&samba, "data/sub/file").exists());
        assert_eq!(*controller.left.lock().unwrap(), [reason, reason]);
    }
}

#[test]
fn what_holds_records_or_was_found_stays() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    fs::create_dir_all(at(&samba, "old/sub")).unwrap();
    let (holds, found) = (volume("pvc-1", "data"), volume("pvc-2", "old"));
    fill(&samba, &holds);
    fs::create_dir(at(&samba, "data/.Wincsi")).unwrap();
    assert_eq!(create(&controller, &found).unwrap(), Created::Found);
    for (volume, reason) in [(&holds, Left::HoldsRecords), (&found, Left::Found)] {
        let deleted = delete(&controller, &archive(volume)).unwrap();
        assert_eq!(deleted, Deleted::Left(reason));
    }
    assert!(at(&samba, "data/sub/file").exists() && at(&samba, "old/sub").exists());
    assert!(entries(&samba, ".wincsi").is_empty());
}

#[test]
fn a_folder_that_is_gone_is_deleted() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
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
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let mut other = samba.open("plain", smb::Privacy::Offered);
    let file = SharePath::new("data/sub/file").unwrap();
    let lock = other
        .lock(&SharePath::new("data/sub/held").unwrap(), soon())
        .unwrap();
    let error = delete(&controller, &gone(&volume)).unwrap_err();
    assert_eq!(error.class(), Class::Blocked, "{error}");
    assert!(error.to_string().contains("held"), "{error}");
    assert_eq!(
        other.stat(&file, soon()).unwrap_err().failure,
        Failure::NotFound
    );
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
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "data");
    for _ in 0..2 {
        fill(&samba, &volume);
        // What a delete leaves that is cut before its last request.
        fs::create_dir_all(at(&samba, ".wincsi/deleted/pvc-1")).unwrap();
        assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
        assert!(!at(&samba, "data").exists());
    }
    fs::create_dir_all(at(&samba, ".wincsi/deleted/pvc-1/strange")).unwrap();
    let error = delete(&controller, &gone(&volume)).unwrap_err();
    assert_eq!(error.class(), Class::Blocked);
    assert!(at(&samba, ".wincsi/deleted/pvc-1/strange").exists());
}

#[test]
fn a_repeated_create_needs_the_same_folder() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let mut share = samba.open("plain", smb::Privacy::Offered);
    let path = |path| SharePath::new(path).unwrap();
    let id = share.stat(&path("data"), soon()).unwrap().id;
    share
        .rename(&path("data"), id, &path("away"), Existing::Refuse, soon())
        .unwrap();
    assert_eq!(create(&controller, &volume).unwrap(), Created::Made);
    fs::remove_dir(at(&samba, "data")).unwrap();
    fs::rename(at(&samba, "away"), at(&samba, "data")).unwrap();
    assert_eq!(create(&controller, &volume).unwrap(), Created::Found);
    assert!(matches!(
        controller.delete(&gone(&volume)),
        Ok(Deleted::Left(Left::Found))
    ));
}

#[test]
fn a_volume_that_is_being_made_keeps_its_folder() {
    for path in ["data", "data/sub", "Data"] {
        let samba = Samba::start();
        let controller = Controller::new(samba.port());
        let (volume, other) = (volume("pvc-1", "data"), volume("pvc-2", path));
        fill(&samba, &volume);
        create(&controller, &other).unwrap();
        // As a call that is cut leaves it.
        let record = at(&samba, ".wincsi/pvc-2.volume");
        let text = fs::read_to_string(&record).unwrap();
        let (before, _) = text.split_once("\"state\":").unwrap();
        fs::write(&record, format!("{before}\"state\":\"creating\"}}")).unwrap();
        let deleted = delete(&controller, &gone(&volume)).unwrap();
        assert_eq!(deleted, Deleted::Left(Left::Shared), "{path}");
        let deleted = delete(&controller, &gone(&other)).unwrap();
        assert_eq!(deleted, Deleted::Left(Left::Found), "{path}");
    }
}

#[test]
fn a_volume_that_is_being_deleted_is_not_made() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let record = at(&samba, ".wincsi/pvc-1.volume");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"ready\"", "\"deleting\"")).unwrap();
    for path in ["data", "data/sub", "Data/new"] {
        let name = if path == "data" { "pvc-1" } else { "pvc-2" };
        let failed = controller.create(&self::volume(name, path)).unwrap_err();
        assert!(matches!(failed.error, Error::Busy(_)), "{path} {failed:?}");
    }
    assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
}
