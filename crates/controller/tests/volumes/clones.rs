//! Clones that are cut, that wait, that meet others, and whose sources change meanwhile.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use transport::Code;
use wincsi_controller::volumes::{Create, Deleted, Error, Left, Reason, Unrecorded};

use crate::controllers::held;
use crate::fixture::{
    Controller, Port, archive, at, by_rule, clone, clone_of, create, delete, dress, entries, gone,
    keep, put, start, tree_at, volume,
};
use crate::proxy::{From, Instead, between, one, unchanged};
use crate::server::{PASSWORD, Samba, soon};

/// What happens to a source at some moment.
pub(crate) type Change = fn(&Path);

/// More than one message carries.
const LARGE: usize = 3 << 20;

#[test]
fn a_clone_that_is_cut_is_repeated() {
    each_cut(dressed(fill), 1, |samba, controller, clone, was_done| {
        let source = tree_at(samba, "data");
        assert_eq!(source.len(), 20);
        let place = tree_at(samba, "new");
        assert!(place.is_empty() || was_done || place == source);
        self::clone(controller, clone).unwrap();
        assert_eq!(tree_at(samba, "new"), source);
        assert!(is_ready(samba));
    });
}

#[test]
fn a_clone_that_is_cut_is_deleted() {
    let mut number = 0;
    each_cut(scene(put_one), 1, |samba, controller, clone, _| {
        // No policy keeps half of a volume.
        let deletions = [gone(clone), archive(clone), keep(clone, Left::Retained)];
        number += 1;
        let is_whole = at(samba, "new").exists();
        delete(controller, &deletions[number % 3]).unwrap();
        let is_there = ["archived-new", "new"].map(|path| at(samba, path).exists());
        let expected = [1, 2].map(|kind| is_whole && number % 3 == kind);
        assert_eq!(is_there, expected);
        for path in ["new", "archived-new"] {
            let _ = fs::remove_dir_all(at(samba, path));
        }
    });
}

/// Guards: P91
#[test]
fn a_clone_takes_no_folder_that_came_meanwhile() {
    let mut refused = 0;
    each_cut(scene(put_one), 1, |samba, controller, clone, _| {
        if at(samba, "new").exists() {
            self::clone(controller, clone).unwrap();
            assert!(is_equal(samba));
            return;
        }
        put(samba, "new/stranger");
        refused += 1;
        let has_record = at(samba, ".wincsi/pvc-1.volume").exists();
        let deletion = match has_record && refused % 2 == 0 {
            // A folder without a record would go.
            true => by_rule(clone, Unrecorded::Delete),
            false => {
                let error = self::clone(controller, clone).unwrap_err();
                assert_eq!(error.code(), Code::AlreadyExists, "{error}");
                assert!(!controller.volumes.may_have_left(&clone.name));
                assert!(!at(samba, ".wincsi/pvc-1.volume").exists());
                gone(clone)
            }
        };
        for _ in 0..2 {
            let deleted = delete(controller, &deletion).unwrap();
            assert_eq!(deleted, Deleted::Left(Left::Unrecorded));
        }
        assert!(entries(samba, ".wincsi/clones").is_empty());
        assert!(at(samba, "new/stranger/sub/file").exists());
        fs::remove_dir_all(at(samba, "new")).unwrap();
    });
    assert!(refused > 20, "{refused}");
}

/// What comes at the place before some request, a folder or a dangling link, and the answer.
const COMING: [(Change, Code, Reason); 2] = [
    (
        |it| {
            let _ = fs::create_dir(it);
        },
        Code::AlreadyExists,
        Reason::Exists,
    ),
    (
        |it| {
            let _ = symlink("nowhere", it);
        },
        Code::FailedPrecondition,
        Reason::Link,
    ),
];

/// Guards: P91
#[test]
fn a_clone_ends_at_what_comes_in_its_place() {
    let (samba, clone) = scene(put_one);
    for (comes, code, reason) in COMING {
        let mut refused = 0;
        for number in 4.. {
            let place = at(&samba, "new");
            let was_reached = Arc::new(AtomicBool::new(false));
            let (flag, it) = (Arc::clone(&was_reached), place.clone());
            let attack = one((From::Client, number), move |message| {
                flag.store(true, Ordering::Relaxed);
                comes(&it);
                unchanged(message)
            });
            let controller = Controller::new(between(samba.port(), attack).0);
            match self::clone(&controller, &clone) {
                Ok(()) => assert!(is_equal(&samba), "{number}"),
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.code(), code, "{number} {error}");
                    assert_eq!(controller.volumes.figures().failed(reason), 1);
                    assert!(!controller.volumes.may_have_left(&clone.name));
                    assert!(entries(&samba, ".wincsi/clones").is_empty(), "{number}");
                    let _ = fs::remove_dir(&place).or_else(|_| fs::remove_file(&place));
                }
            }
            delete(&Controller::new(samba.port()), &gone(&clone)).unwrap();
            if !was_reached.load(Ordering::Relaxed) {
                break;
            }
        }
        assert!(refused > 10, "{refused}");
    }
}

/// Changes of the source between a cut and the repeat.
pub(crate) const CHANGES: [Change; 6] = [
    |it| fs::write(it.join("small"), [7; 5000]).unwrap(),
    |it| fs::write(it.join("large"), b"short").unwrap(),
    |it| fs::remove_dir_all(it.join("a")).unwrap(),
    |it| fs::write(it.join("new"), b"new").unwrap(),
    |it| {
        // It leads to the other.
        fs::remove_file(it.join("link")).unwrap();
        fs::remove_file(it.join("small")).unwrap();
        fs::create_dir_all(it.join("small/sub")).unwrap();
    },
    |it| {
        fs::remove_dir_all(it.join("a")).unwrap();
        fs::write(it.join("a"), b"a file now").unwrap();
    },
];

#[test]
fn a_repeated_clone_is_of_what_the_source_has_then() {
    let mut number = 0;
    each_cut(scene(fill), 5, |samba, controller, clone, _| {
        number += 1;
        if at(samba, "new").exists() {
            return;
        }
        CHANGES[number % CHANGES.len()](&at(samba, "data"));
        self::clone(controller, clone).unwrap();
        assert!(is_equal(samba), "{number}");
        fs::remove_dir_all(at(samba, "data")).unwrap();
        fs::create_dir(at(samba, "data")).unwrap();
        fill(samba);
    });
    assert!(number > 10, "{number}");
}

/// Two run at a time, a third is of a clone that is not ready, and nobody deletes what is copied.
#[test]
fn clones_of_one_source_run_beside_each_other() {
    let (samba, first) = scene(put_one);
    let source = volume("pvc-0", "data");
    let second = clone_of(&source, volume("pvc-2", "second"));
    let third = clone_of(&first, volume("pvc-3", "third"));
    let copied = at(&samba, ".wincsi/clones/pvc-1/sub");
    let (hold, attack) = held(unchanged, move |_| copied.exists());
    let (port, _) = between(samba.port(), attack);
    let slow = Controller::new(port);
    let other = Controller::new(samba.port());
    thread::scope(|scope| {
        let running = scope.spawn(|| slow.clone_by(&first, soon()));
        hold.0.recv().unwrap();
        let short = Instant::now() + Duration::from_millis(50);
        let error = slow.clone_by(&first, short).unwrap_err();
        assert!(matches!(error, Error::GoesOn(_)), "{error}");
        assert_eq!(error.code(), Code::DeadlineExceeded);
        other.clone_by(&second, soon()).unwrap();
        for deletion in [
            gone(&source),
            archive(&source),
            keep(&source, Left::Retained),
            gone(&first),
        ] {
            let error = other.delete(&deletion).unwrap_err();
            assert_eq!(error.code(), Code::Aborted, "{deletion:?} {error}");
        }
        let error = other.clone_by(&third, soon()).unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{error}");
        assert!(!other.volumes.may_have_left(&third.name));
        assert_eq!(
            other.clone_by(&first, soon()).unwrap_err().code(),
            Code::Aborted
        );
        assert_eq!(slow.volumes.figures().running(), 1);
        drop(hold);
        running.join().unwrap().unwrap();
    });
    assert!(is_equal(&samba));
    other.clone_by(&third, soon()).unwrap();
    assert_eq!(delete(&other, &gone(&source)).unwrap(), Deleted::Gone);
    for (volume, folder) in [(&first, "new"), (&second, "second"), (&third, "third")] {
        assert!(at(&samba, folder).join("sub/file").exists());
        assert_eq!(delete(&other, &gone(volume)).unwrap(), Deleted::Gone);
    }
    assert_eq!(entries(&samba, ".wincsi"), ["clones", "deleted"]);
    let figures = slow.volumes.figures();
    assert_eq!((figures.running(), figures.bytes()), (0, 1));
    let failed = |reason| other.volumes.figures().failed(reason);
    let reasons = [Reason::Locked, Reason::Source, Reason::Other];
    assert_eq!(reasons.map(failed), [1, 1, 0]);
}

/// Its locks end with its connection, and the copy with them.
#[test]
fn a_clone_ends_with_its_connection() {
    let (samba, clone) = scene(put_one);
    let copied = at(&samba, ".wincsi/clones/pvc-1/sub");
    let attack = move |from, _, message: &[u8]| match from {
        From::Client if copied.exists() => Instead::End,
        _ => unchanged(message),
    };
    let (port, _) = between(samba.port(), Box::new(attack));
    let cut = Controller::new(port);
    let error = cut.clone_by(&clone, soon()).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert_eq!(cut.volumes.figures().failed(Reason::Connection), 1);
    let other = Controller::new(samba.port());
    let source = volume("pvc-0", "data");
    assert_eq!(delete(&other, &gone(&source)).unwrap(), Deleted::Gone);
    let error = self::clone(&other, &clone).unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    assert!(entries(&samba, ".wincsi/clones").is_empty());
    assert_eq!(entries(&samba, ".wincsi"), ["clones", "deleted"]);
}

/// The sum of the sizes refuses nothing.
#[test]
fn a_clone_leaves_a_twentieth_of_the_share_free() {
    let (samba, free) = limited();
    let clone = set(&samba, put_one);
    let sparse = fs::File::create(at(&samba, "data/sparse")).unwrap();
    sparse.set_len(2_000_000).unwrap();
    let controller = Controller::new(samba.port());
    leaves_a_twentieth(&free, || controller.clone_by(&clone, soon()));
    assert_eq!(controller.volumes.figures().failed(Reason::Space), 4);
    assert!(is_equal(&samba));
}

/// Calls with so much of a thousand free, and expects these words; the last call succeeds.
pub(crate) fn leaves_a_twentieth(free: &impl Fn(u32), call: impl Fn() -> Result<(), Error>) {
    const AGAIN: &str = "no more than the 50176";
    let refused = [
        (49, "50176 bytes free of 1024000"),
        (49, AGAIN),
        (48, AGAIN),
        (49, AGAIN),
    ];
    for (of_thousand, words) in refused {
        free(of_thousand);
        let error = call().unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
        assert!(error.to_string().contains(words), "{of_thousand} {error}");
    }
    free(50);
    call().unwrap();
}

/// A server that says of its space what a script does: how much of a thousand is free.
pub(crate) fn limited() -> (Samba, impl Fn(u32)) {
    let folder = tempfile::tempdir().unwrap();
    let (script, number) = (folder.path().join("free"), folder.path().join("number"));
    fs::write(&script, format!("#!/bin/sh\ncat {}\n", number.display())).unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let samba = Samba::with(&format!("dfree command = {}", script.display()));
    let free = move |of_thousand| {
        let number = folder.path().join("number");
        fs::write(number, format!("1000 {of_thousand} 1024")).unwrap();
    };
    (samba, free)
}

#[test]
fn a_clone_crosses_the_shares_of_a_server() {
    let (samba, _) = scene(fill);
    let mut across = clone_of(&volume("pvc-0", "data"), volume("pvc-1", "deep/new"));
    across.base.share = smb::Name::new("second").unwrap();
    let second = Port(samba.port(), "second", PASSWORD);
    let controller = Controller::new(samba.port()).with(second);
    clone(&controller, &across).unwrap();
    let place = samba.second().join("deep/new");
    assert!(is_same(&at(&samba, "data"), &place));
    assert!(!at(&samba, "deep").exists());
    assert_eq!(delete(&controller, &gone(&across)).unwrap(), Deleted::Gone);
    assert!(!place.exists());
}

/// A link that comes once the copy is in its place: the record stays, and the next call goes on.
#[test]
fn a_clone_behind_a_new_link_keeps_its_record() {
    let (samba, _) = scene(put_one);
    fs::create_dir(at(&samba, "deep")).unwrap();
    let clone = clone_of(&volume("pvc-0", "data"), volume("pvc-1", "ns/new"));
    let [folder, moved] = ["ns", "deep/ns"].map(|path| at(&samba, path));
    let (from, to) = (folder.clone(), moved.clone());
    let attack = move |side, _, message: &[u8]| {
        if side == From::Client && from.join("new").exists() && !from.is_symlink() {
            fs::rename(&from, &to).unwrap();
            symlink("deep/ns", &from).unwrap();
        }
        unchanged(message)
    };
    let (port, _) = between(samba.port(), Box::new(attack));
    let controller = Controller::new(port);
    let error = controller.clone_by(&clone, soon()).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(controller.volumes.may_have_left(&clone.name));
    assert_eq!(controller.volumes.figures().failed(Reason::Link), 1);
    fs::remove_file(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    self::clone(&Controller::new(samba.port()), &clone).unwrap();
    assert!(is_same(&at(&samba, "data"), &at(&samba, "ns/new")));
}

/// A source with a volume in it, and its clone.
fn scene(fill: fn(&Samba)) -> (Samba, Create) {
    let (samba, _) = start();
    let clone = set(&samba, fill);
    (samba, clone)
}

/// A source with attributes, on a server that keeps them.
pub(crate) fn dressed(fill: fn(&Samba)) -> (Samba, Create) {
    let samba = Samba::with("store dos attributes = yes");
    let clone = set(&samba, fill);
    let attributes = [0x1, 0x2, 0x3, 0x24, 0x26, 0x27];
    for (path, attributes) in tree_at(&samba, "data")
        .keys()
        .zip(attributes.iter().cycle())
    {
        dress(&at(&samba, "data").join(path), *attributes, old());
    }
    (samba, clone)
}

pub(crate) fn set(samba: &Samba, fill: fn(&Samba)) -> Create {
    let source = volume("pvc-0", "data");
    create(&Controller::new(samba.port()), &source).unwrap();
    fill(samba);
    clone_of(&source, volume("pvc-1", "new"))
}

pub(crate) fn put_one(samba: &Samba) {
    put(samba, "data");
}

/// Twenty entries of each kind: folders, empty and not, files of each size, names that only look equal, a link to a file.
pub(crate) fn fill(samba: &Samba) {
    let root = at(samba, "data");
    for path in ["a/b/c/d", "empty", "a/two words", "a/two\u{f028}words"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for n in 0..5 {
        fs::write(root.join(format!("a/b/{n}")), vec![n; 100]).unwrap();
    }
    fs::write(root.join("none"), b"").unwrap();
    fs::write(root.join("small"), [1; 4096]).unwrap();
    let large: Vec<u8> = (0..LARGE).map(|n| n.to_le_bytes()[0]).collect();
    fs::write(root.join("large"), large).unwrap();
    fs::write(root.join("a/\u{e4} 'x'"), b"x").unwrap();
    fs::write(root.join("a/b/c/d/deep"), b"deep").unwrap();
    fs::write(root.join("closed"), b"read-only").unwrap();
    fs::set_permissions(root.join("closed"), PermissionsExt::from_mode(0o444)).unwrap();
    symlink("small", root.join("link")).unwrap();
    for path in ["small", "a/b/1", "empty"] {
        let file = fs::File::open(root.join(path)).unwrap();
        file.set_modified(old()).unwrap();
    }
}

pub(crate) fn old() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

/// Whether the clone is its source's copy, and its record says that it is whole.
fn is_equal(samba: &Samba) -> bool {
    is_ready(samba) && is_same(&at(samba, "data"), &at(samba, "new"))
}

fn is_ready(samba: &Samba) -> bool {
    let record = fs::read_to_string(at(samba, ".wincsi/pvc-1.volume")).unwrap_or_default();
    record.contains("\"ready\"")
}

/// Whether two trees have the same names, contents, times of change, and read-only files; else it says where not.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let looked = [one, other].map(|path| fs::metadata(path).ok());
    let [Some(mine), Some(theirs)] = &looked else {
        eprintln!("{} is missing", other.display());
        return false;
    };
    // SMB has times in units of 100 ns.
    let time = |of: &fs::Metadata| {
        let since = of.modified().unwrap().duration_since(std::time::UNIX_EPOCH);
        since.unwrap().as_nanos() / 100
    };
    let facts = |of: &fs::Metadata| (of.is_dir(), time(of), of.permissions().mode() & 0o200);
    if facts(mine) != facts(theirs) {
        eprintln!("{}: {:?} {:?}", other.display(), facts(mine), facts(theirs));
        return false;
    }
    if !mine.is_dir() {
        return fs::read(one).unwrap() == fs::read(other).unwrap();
    }
    let names = |path| {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (all, others) = (names(one), names(other));
    if all != others {
        eprintln!("{}: {all:?} {others:?}", other.display());
    }
    all == others
        && all
            .iter()
            .all(|name| is_same(&one.join(name), &other.join(name)))
}

/// Cuts a clone before and after its requests, at each n-th of all these places, and then deletes it.
fn each_cut(
    (samba, clone): (Samba, Create),
    step: usize,
    mut check: impl FnMut(&Samba, &Controller, &Create, bool),
) {
    let call = |port| Controller::new(port).clone_by(&clone, soon()).is_ok();
    cut_each(&samba, step, call, |is_done| {
        let controller = Controller::new(samba.port());
        check(&samba, &controller, &clone, is_done);
        let deleted = delete(&controller, &gone(&clone)).unwrap();
        assert_eq!(deleted, Deleted::Gone);
        assert_eq!(entries(&samba, ""), [".wincsi", "data"]);
        assert!(entries(&samba, ".wincsi/clones").is_empty());
        let mut records = entries(&samba, ".wincsi");
        // The server notices the end of the cut connection on its own time.
        records.retain(|name| !name.ends_with("lock"));
        let folders = ["clones", "deleted", "pvc-0.volume"];
        assert!(
            records.iter().all(|name| folders.contains(&name.as_str())),
            "{records:?}"
        );
    });
}

/// Calls by a port where the connection is cut before and after requests, at each n-th of all these places.
pub(crate) fn cut_each(
    samba: &Samba,
    step: usize,
    mut call: impl FnMut(u16) -> bool,
    mut check: impl FnMut(bool),
) {
    let mut missed = 0;
    // After the messages of the logon, which change nothing.
    for place in (8..).step_by(step) {
        let (number, side) = match place % 2 {
            0 => (place / 2, From::Client),
            _ => (place / 2, From::Server),
        };
        let was_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&was_cut);
        let attack = one((side, number), move |_| {
            cut.store(true, Ordering::Relaxed);
            Instead::End
        });
        let (port, _) = between(samba.port(), attack);
        let is_done = call(port);
        check(is_done);
        missed += usize::from(is_done && !was_cut.load(Ordering::Relaxed));
        // One for each side.
        if missed == 2 {
            assert!(number > 15);
            return;
        }
        assert!(number < 400);
    }
}
