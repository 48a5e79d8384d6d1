//! Each call is cut before and after each of its requests, and what follows is a new controller's: no folder is lost, and
//! none is left but those that count as found.

use std::fmt::Debug;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wincsi_controller::volumes::Unrecorded;
use wincsi_controller::volumes::{Create, Created, Delete, Deleted, Error, Left, Policy};

use crate::fixture::{Controller, at, begin, by_rule, create, delete, entries, fill, gone};
use crate::fixture::{put, until_free, volume};
use crate::proxy::{From, Instead, between, one};
use crate::server::{Samba, soon};

/// The folders of volumes: its own name, and another one in a folder that is missing.
const FOLDERS: [&str; 2] = ["pvc-1", "ns/data"];

/// Whose message is cut, how long the call may take, in milliseconds, and what comes in the message's place.
type Cut = (From, u64, fn() -> Instead);

/// Before a request, and after it: then its answer is lost.
const BOTH: [Cut; 2] = [
    (From::Client, 30_000, || Instead::End),
    (From::Server, 30_000, || Instead::End),
];

/// The answer comes after the caller's deadline.
const HELD: [Cut; 1] = [(From::Server, 300, || Instead::BytesThenSilence(vec![]))];

/// How what the share has before a call comes there.
type Before = fn(&Samba, &Create);

/// What is there before a create, the folder, what the volume then is, and how the create is cut.
const CREATES: [(Option<Before>, &str, Created, &[Cut]); 8] = [
    (None, "pvc-1", Created::Made, &BOTH),
    (None, "ns/data", Created::Made, &BOTH),
    (Some(other), "ns/data", Created::Found, &BOTH),
    (Some(left), "ns/data", Created::Found, &BOTH),
    (Some(begin), "ns/data", Created::Found, &BOTH),
    (Some(begin), "pvc-1", Created::Made, &BOTH),
    (Some(fill), "ns/data", Created::Made, &BOTH),
    (Some(begin), "pvc-1", Created::Made, &HELD),
];

#[test]
fn a_create_that_is_cut_is_repeated() {
    for (before, folder, expected, cuts) in CREATES {
        let volume = volume("pvc-1", folder);
        let mut found = 0;
        let before_it = |samba: &_| before.iter().for_each(|before| before(samba, &volume));
        let call = |it: &Controller, by| it.create_by(&volume, by);
        each_cut(cuts, before_it, call, |samba, controller| {
            let created = create(controller, &volume).unwrap();
            found += usize::from(created != expected);
            assert_eq!(entries(samba, ".wincsi"), ["pvc-1.volume"]);
            let file = at(samba, folder).join("sub/file");
            assert_eq!(file.exists(), before.is_some());
            put(samba, folder);
            assert_eq!(create(controller, &volume).unwrap(), created);
            ends(samba, controller, &volume, created);
            assert_eq!(file.exists(), created == Created::Found);
        });
        // Only where the folder is there and its second record is not.
        let is_new = before.is_none() && folder != "pvc-1";
        let most = if is_new { 8 } else { 0 };
        assert!(found <= most, "{folder}: {found} found");
    }
}

#[test]
fn a_create_that_is_cut_is_deleted() {
    for folder in FOLDERS {
        let volume = volume("pvc-1", folder);
        let call = |it: &Controller, by| it.create_by(&volume, by);
        let nothing = |_: &_| {};
        each_cut(&BOTH, nothing, call, |samba, controller| {
            let is_there = at(samba, folder).exists();
            let deleted = delete(controller, &gone(&volume)).unwrap();
            let left = is_there && at(samba, folder).exists();
            assert_eq!(deleted == Deleted::Left(Left::Found), left);
            assert!(!left || folder != "pvc-1");
            is_clean(samba, &[]);
        });
    }
}

#[test]
fn a_look_that_is_cut_changes_nothing() {
    let volume = volume("pvc-1", "ns/data");
    let before = |samba: &_| fill(samba, &volume);
    let call = |it: &Controller, _| it.exists(&volume);
    each_cut(&BOTH, before, call, |samba, controller| {
        assert!(controller.exists(&volume).unwrap());
        assert!(at(samba, "ns/data/sub/file").exists());
        is_clean(samba, &["pvc-1.volume"]);
    });
}

/// A delete that is cut, and what is there once it is repeated.
struct Row {
    policy: Policy,
    unrecorded: Unrecorded,
    folder: &'static str,
    /// What the share has before.
    before: Before,
    is_right: fn(&Deleted) -> bool,
    /// Which of [`PLACES`] are there afterwards, with their content.
    stays: &'static [&'static str],
    records: &'static [&'static str],
}

const PLACES: &str = "pvc-1 ns/data other archived-ns/data archived-ns/data-pvc-1";

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
        let before = |samba: &_| (row.before)(samba, &volume);
        let call = |it: &Controller, by| it.delete_by(&deletion, by);
        each_cut(&BOTH, before, call, |samba, controller| {
            for _ in 0..2 {
                let deleted = delete(controller, &deletion).unwrap();
                assert!((row.is_right)(&deleted), "{deleted:?}");
                let is_there = |path: &&str| at(samba, path).exists();
                let there: Vec<_> = PLACES.split(' ').filter(is_there).collect();
                assert_eq!(there, row.stays);
                assert_eq!(at(samba, "ns").exists(), row.folder == "ns/data");
                let file = |path: &&str| at(samba, path).join("sub/file").exists();
                assert!(there.iter().all(file), "{there:?}");
                is_clean(samba, row.records);
            }
        });
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
    other(samba, volume);
    create(&Controller::new(samba.port()), volume).unwrap();
}

/// A folder of nobody.
fn other(samba: &Samba, _: &Create) {
    put(samba, "ns/data");
}

/// A folder that a delete left, and its record.
fn left(samba: &Samba, volume: &Create) {
    found(samba, volume);
    let controller = Controller::new(samba.port());
    delete(&controller, &by_rule(volume, Unrecorded::Delete)).unwrap();
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
        let before = |samba: &_| fill(samba, &old);
        let call = |it: &Controller, by| it.delete_by(&deletion, by);
        each_cut(&BOTH[1..], before, call, |samba, controller| {
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
        });
        assert!(refused > 0, "no claim met the old folder in its place");
    }
}

/// Calls at each request of which the connection is cut, and then a controller that knows nothing of it.
fn each_cut<T: Debug>(
    cuts: &[Cut],
    prepare: impl Fn(&Samba),
    call: impl Fn(&Controller, Instant) -> T,
    mut check: impl FnMut(&Samba, &Controller),
) {
    let samba = Samba::start();
    // After the messages of the logon, which change nothing.
    for number in 4.. {
        let was_cut = Arc::new(AtomicBool::new(false));
        let mut done = String::new();
        for (side, patience, instead) in cuts.iter().copied() {
            empty(&samba);
            prepare(&samba);
            let flag = Arc::clone(&was_cut);
            let attack = one((side, number), move |_| {
                flag.store(true, Ordering::Relaxed);
                instead()
            });
            let (port, _) = between(samba.port(), attack);
            let by = Instant::now() + Duration::from_millis(patience);
            done = format!("{:?}", call(&Controller::new(port), by));
            check(&samba, &Controller::new(samba.port()));
        }
        if !was_cut.load(Ordering::Relaxed) && done.starts_with("Ok") {
            assert!(number > 5, "{done}");
            return;
        }
        // On a busy machine a short deadline may come before the request.
        assert!(number < 100, "{done}");
    }
}

/// Creates as soon as nobody has the locks; the error is of a folder that is still to be moved away.
fn create_unless_unmoved(controller: &Controller, volume: &Create) -> Result<(), String> {
    let created = until_free(|| match controller.create(volume) {
        Err(Error::Busy(text)) if text.contains("is being deleted") => Err(Error::Blocked(text)),
        created => created,
    });
    created.map(drop).map_err(|error| error.to_string())
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
