//! Each call is cut before and after each of its requests, and what follows is a new controller's: no folder is lost, and
//! none is left but those that count as found.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use wincsi_controller::volumes::{
    Create, Created, Delete, Deleted, Error, Left, Policy, Unrecorded,
};

use crate::fixture::{Controller, at, create, delete, entries, fill, gone, put, volume};
use crate::proxy::{From, Instead, between, unchanged};
use crate::server::{Samba, soon};

/// The folders of volumes: its own name, and another one in a folder that is missing.
const FOLDERS: [&str; 2] = ["pvc-1", "ns/data"];

/// Before a request, and after it: then its answer is lost.
const BOTH: [From; 2] = [From::Client, From::Server];

#[test]
fn a_create_that_is_cut_is_repeated() {
    for folder in FOLDERS {
        let volume = volume("pvc-1", folder);
        let mut found = 0;
        each_cut(
            &BOTH,
            |_| {},
            |controller| format!("{:?}", controller.create(&volume)),
            |samba, controller| {
                let created = create(controller, &volume).unwrap();
                assert_eq!(entries(samba, ".wincsi"), ["pvc-1.volume"]);
                fs::write(at(samba, folder).join("file"), b"x").unwrap();
                let again = create(controller, &volume).unwrap();
                assert_eq!(again, created);
                found += usize::from(created == Created::Found);
                ends(samba, controller, &volume, created);
            },
        );
        // Only where the folder is there and its second record is not.
        let most = if folder == "pvc-1" { 0 } else { 8 };
        assert!(found <= most, "{folder}: {found} found");
    }
}

#[test]
fn a_create_that_is_cut_is_deleted() {
    for folder in FOLDERS {
        let volume = volume("pvc-1", folder);
        each_cut(
            &BOTH,
            |_| {},
            |controller| format!("{:?}", controller.create(&volume)),
            |samba, controller| {
                let is_there = at(samba, folder).exists();
                let deleted = delete(controller, &gone(&volume)).unwrap();
                let left = is_there && at(samba, folder).exists();
                assert_eq!(deleted == Deleted::Left(Left::Found), left);
                assert!(!left || folder != "pvc-1");
                is_clean(samba, &[]);
            },
        );
    }
}

/// A delete that is cut, and what is there once it is repeated.
struct Row {
    policy: Policy,
    unrecorded: Unrecorded,
    folder: &'static str,
    /// What the share has before.
    before: fn(&Samba, &Create),
    is_right: fn(&Deleted) -> bool,
    /// Which of [`PLACES`] are there afterwards, with their content.
    stays: &'static [&'static str],
    records: &'static [&'static str],
}

const PLACES: [&str; 5] = [
    "pvc-1",
    "ns/data",
    "other",
    "archived-ns/data",
    "archived-ns/data-pvc-1",
];

const DELETE: Row = Row {
    policy: Policy::Delete,
    unrecorded: Unrecorded::Keep,
    folder: "ns/data",
    before: fill,
    is_right: |deleted| *deleted == Deleted::Gone,
    stays: &[],
    records: &[],
};

const ARCHIVE: Row = Row {
    policy: Policy::Archive,
    is_right: |deleted| matches!(deleted, Deleted::Archived(_)),
    stays: &["archived-ns/data"],
    ..DELETE
};

#[test]
fn a_delete_that_is_cut_is_repeated() {
    each_row(&[
        Row {
            before: with_another,
            stays: &["other"],
            records: &["pvc-2.volume"],
            ..DELETE
        },
        Row {
            folder: "pvc-1",
            ..DELETE
        },
        // By the rule of names with a UUID, on a share that has no records yet.
        Row {
            unrecorded: Unrecorded::DeleteIfNone,
            folder: "pvc-1",
            before: |samba, _| put(samba, "pvc-1"),
            ..DELETE
        },
    ]);
}

#[test]
fn an_archive_that_is_cut_is_repeated() {
    each_row(&[
        ARCHIVE,
        Row {
            before: taken,
            stays: &["archived-ns/data", "archived-ns/data-pvc-1"],
            ..ARCHIVE
        },
    ]);
}

#[test]
fn a_delete_that_leaves_and_is_cut_is_repeated() {
    let stays = Row {
        is_right: |deleted| *deleted == Deleted::Left(Left::Retained),
        stays: &["ns/data"],
        ..DELETE
    };
    each_row(&[
        Row {
            policy: Policy::Keep(Left::Retained),
            ..stays
        },
        // The first call may have written that the folder was left.
        Row {
            unrecorded: Unrecorded::Delete,
            before: found,
            is_right: |deleted| matches!(deleted, Deleted::Left(Left::Found | Left::Unrecorded)),
            records: &["pvc-1.volume"],
            ..stays
        },
    ]);
}

/// Cuts each delete, and repeats it twice.
fn each_row(rows: &[Row]) {
    for row in rows {
        let volume = volume("pvc-1", row.folder);
        let deletion = Delete {
            policy: row.policy,
            unrecorded: row.unrecorded,
            ..gone(&volume)
        };
        each_cut(
            &BOTH,
            |samba| (row.before)(samba, &volume),
            |controller| format!("{:?}", controller.delete(&deletion)),
            |samba, controller| {
                for _ in 0..2 {
                    let deleted = delete(controller, &deletion).unwrap();
                    assert!((row.is_right)(&deleted), "{deleted:?}");
                    let is_there = |path: &&str| at(samba, path).exists();
                    let there: Vec<_> = PLACES.into_iter().filter(is_there).collect();
                    assert_eq!(there, row.stays);
                    assert_eq!(at(samba, "ns").exists(), row.folder == "ns/data");
                    let file = |path: &&str| at(samba, path).join("sub/file").exists();
                    assert!(there.iter().all(file), "{there:?}");
                    is_clean(samba, row.records);
                }
            },
        );
    }
}

/// A volume, and another one beside it.
fn with_another(samba: &Samba, volume: &Create) {
    fill(samba, volume);
    fill(samba, &self::volume("pvc-2", "other"));
}

/// A volume, of whose archive the name is taken.
fn taken(samba: &Samba, volume: &Create) {
    fill(samba, volume);
    put(samba, "archived-ns/data");
}

/// A volume whose folder was there before.
fn found(samba: &Samba, volume: &Create) {
    put(samba, "ns/data");
    create(&Controller::new(samba.port()), volume).unwrap();
}

/// Guards the folder of a claim that comes back under its name while its old volume is being deleted.
#[test]
fn a_claim_that_returns_keeps_its_folder() {
    let (old, new) = (volume("pvc-1", "ns/data"), volume("pvc-2", "ns/data"));
    for policy in [Policy::Delete, Policy::Archive] {
        let deletion = Delete {
            policy,
            // Nothing of a deleted volume is taken for one without a record.
            unrecorded: Unrecorded::Delete,
            ..gone(&old)
        };
        let mut refused = 0;
        each_cut(
            &[From::Server],
            |samba| fill(samba, &old),
            |controller| format!("{:?}", controller.delete(&deletion)),
            |samba, controller| {
                if let Err(text) = create_unless_unmoved(controller, &new) {
                    assert!(text.contains("not moved away"), "{text}");
                    assert!(at(samba, "ns/data").exists(), "it is moved away");
                    refused += 1;
                    delete(controller, &deletion).unwrap();
                }
                let created = create(controller, &new).unwrap();
                fs::write(at(samba, "ns/data/new"), b"x").unwrap();
                let deleted = delete(controller, &deletion).unwrap();
                assert!(at(samba, "ns/data/new").exists());
                assert_ne!(deleted, Deleted::Left(Left::Replaced));
                if matches!(deleted, Deleted::Left(_)) {
                    fs::remove_file(at(samba, ".wincsi/pvc-1.volume")).unwrap();
                }
                let archive = at(samba, "archived-ns/data/sub/file");
                let is_archived = policy == Policy::Archive && created == Created::Made;
                assert_eq!(archive.exists(), is_archived);
                ends(samba, controller, &new, created);
            },
        );
        assert!(refused > 0, "no claim met the old folder in its place");
    }
}

/// Calls at each request of which the connection is cut, and then a controller that knows nothing of it.
fn each_cut(
    sides: &[From],
    prepare: impl Fn(&Samba),
    call: impl Fn(&Controller) -> String,
    mut check: impl FnMut(&Samba, &Controller),
) {
    let samba = Samba::start();
    // After the messages of the logon, which change nothing.
    for number in 4.. {
        let was_cut = Arc::new(AtomicBool::new(false));
        let mut done = String::new();
        for side in sides.iter().copied() {
            empty(&samba);
            prepare(&samba);
            let flag = Arc::clone(&was_cut);
            let attack = move |from, n, message: &[u8]| {
                if (from, n) != (side, number) {
                    return unchanged(message);
                }
                flag.store(true, Ordering::Relaxed);
                Instead::End
            };
            let (port, _) = between(samba.port(), Box::new(attack));
            done = call(&Controller::new(port));
            check(&samba, &Controller::new(samba.port()));
        }
        if !was_cut.load(Ordering::Relaxed) {
            assert!(number > 10 && done.starts_with("Ok"), "{number}: {done}");
            return;
        }
    }
}

/// Creates as soon as nobody has the locks; the error is of a folder that is still to be moved away.
fn create_unless_unmoved(controller: &Controller, volume: &Create) -> Result<(), String> {
    let until = soon();
    loop {
        match controller.create(volume) {
            Err(Error::Busy(text)) if !text.contains("is being deleted") => {
                assert!(Instant::now() < until, "{text}");
            }
            Err(error) => return Err(error.to_string()),
            Ok(_) => return Ok(()),
        }
    }
}

/// A folder that was made goes, one that was found stays.
fn ends(samba: &Samba, controller: &Controller, volume: &Create, created: Created) {
    let expected = match created {
        Created::Made => Deleted::Gone,
        Created::Found => Deleted::Left(Left::Found),
    };
    assert_eq!(delete(controller, &gone(volume)).unwrap(), expected);
    is_clean(samba, &[]);
}

/// Nothing is in `.wincsi` but these records, once the server has noticed which connections ended.
fn is_clean(samba: &Samba, records: &[&str]) {
    let until = soon();
    loop {
        let mut names = entries(samba, ".wincsi");
        names.retain(|name| name != "deleted");
        if names == records {
            break;
        }
        let is_locked = names.contains(&"lock".to_owned());
        assert!(Instant::now() < until && is_locked, "{names:?}");
    }
    let deleted = at(samba, ".wincsi/deleted");
    assert!(!deleted.exists() || entries(samba, ".wincsi/deleted").is_empty());
}

fn empty(samba: &Samba) {
    let until = soon();
    while !entries(samba, "").is_empty() {
        for name in entries(samba, "") {
            // A lock of the last call may go just now.
            let _ = fs::remove_dir_all(at(samba, &name));
        }
        assert!(Instant::now() < until);
    }
}
