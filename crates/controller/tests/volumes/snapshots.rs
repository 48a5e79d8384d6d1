//! Snapshots and what is restored from them: whole or not at all, also if cut, and never what the manifest has not.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use smb::Name;
use transport::Code;
use wincsi_controller::volumes::{
    Asked, Base, Consistency, Create, Deleted, Error, Origin, Reason, Snapshot, Source, Take,
    WholeSnapshot,
};

use crate::clones::{
    CHANGES, cut_each, dressed, fill, is_same, leaves_a_twentieth, limited, old, put_one, set,
};
use crate::controllers::held;
use crate::fixture::{
    Controller, at, begin, create, delete, entries, gone, put, start, tree_at, until_free, volume,
};
use crate::proxy::{From, between, unchanged};
use crate::server::{Samba, soon};

pub(crate) const PLACE: &str = ".wincsi/snapshots/snap-1";
pub(crate) const MANIFEST: &str = ".wincsi/snapshots/snap-1.manifest";
const RECORD: &str = ".wincsi/snap-1.snapshot";

/// A server, and a snapshot of a volume to take.
pub(crate) fn scene(fill: fn(&Samba)) -> (Samba, Controller, Take) {
    let (samba, controller) = start();
    set(&samba, fill);
    (samba, controller, take_of("data"))
}

pub(crate) fn take_of(folder: &str) -> Take {
    let source = volume("pvc-0", folder);
    Take {
        snapshot: named("snap-1"),
        source_id: format!("127.0.0.1/plain#{folder}#pvc-0#"),
        volume: Some(source.name),
        folder: source.folder,
        consistency: Consistency::Listed,
    }
}

pub(crate) fn named(name: &str) -> Snapshot {
    Snapshot {
        name: Name::new(name).unwrap(),
        base: base(),
    }
}

fn base() -> Base {
    volume("pvc-0", "data").base
}

pub(crate) fn take(controller: &Controller, take: &Take) -> Result<WholeSnapshot, Error> {
    until_free(|| controller.take(take))
}

pub(crate) fn restored(snapshot: &Snapshot, volume: Create) -> Create {
    let source = Source {
        id: format!("snapshot#127.0.0.1/plain#{}", snapshot.name),
        base: snapshot.base.clone(),
        origin: Origin::Snapshot(snapshot.name.clone()),
    };
    Create {
        source: Some(source),
        ..volume
    }
}

pub(crate) fn restore(controller: &Controller, snapshot: &Snapshot) -> Result<(), Error> {
    let volume = restored(snapshot, volume("pvc-1", "new"));
    until_free(|| controller.clone_by(&volume, soon()))
}

pub(crate) fn drop_snapshot(controller: &Controller, snapshot: &Snapshot) -> Result<(), Error> {
    until_free(|| controller.delete_snapshot(snapshot))
}

pub(crate) fn listed(controller: &Controller) -> Vec<WholeSnapshot> {
    let asked = Asked {
        most: 10,
        ..Asked::default()
    };
    let (whole, has_more) = controller.snapshots(&base(), &asked).unwrap();
    assert!(!has_more);
    whole
}

/// Nothing of a snapshot is there, nor of a copy.
pub(crate) fn is_clean(samba: &Samba) {
    for folder in ["clones", "deleted", "snapshots"] {
        assert!(entries(samba, &format!(".wincsi/{folder}")).is_empty());
    }
    let names = entries(samba, ".wincsi");
    assert!(
        names.iter().all(|name| !name.contains("snap-1.snapshot")
        // The server notices the end of a cut connection on its own time.
        || name.ends_with("lock")),
        "{names:?}"
    );
}

/// Guards: P91
#[test]
fn a_snapshot_that_is_cut_is_repeated() {
    // A place takes the large tree a second.
    is_repeated(&dressed(put_one).0, 1);
    is_repeated(&dressed(fill).0, 3);
}

fn is_repeated(samba: &Samba, step: usize) {
    let (wanted, mut begun) = (take_of("data"), 0);
    let call = |port| Controller::new(port).take(&wanted).is_ok();
    cut_each(samba, step, call, |was_done| {
        let controller = Controller::new(samba.port());
        let before = listed(&controller);
        assert!(before.len() <= 1 && (before.len() == 1 || !was_done));
        let half = fs::read_to_string(at(samba, RECORD)).unwrap_or_default();
        let taken = take(&controller, &wanted).unwrap();
        assert!(before.iter().all(|it| *it == taken) && taken.begun > begun);
        // The half copy that is there began then.
        let is_then = half.contains(&format!("\"begun\":{},", taken.begun));
        assert!(is_then || !half.contains("\"cloning\""), "{half}");
        begun = taken.begun;
        let source = tree_at(samba, "data");
        assert_eq!(tree_at(samba, PLACE), source);
        restore(&controller, &wanted.snapshot).unwrap();
        assert_eq!(tree_at(samba, "new"), source);
        delete(&controller, &gone(&volume("pvc-1", "new"))).unwrap();
        drop_snapshot(&controller, &wanted.snapshot).unwrap();
        is_clean(samba);
    });
}

/// A half one goes, be it the call or its undoing that is cut, and its source stays.
#[test]
fn a_cut_snapshot_is_deleted() {
    let (samba, _, wanted) = scene(put_one);
    let call = |port| Controller::new(port).take(&wanted).is_ok();
    let mut moved = 0;
    cut_each(&samba, 1, call, |_| {
        let controller = Controller::new(samba.port());
        let record = fs::read_to_string(at(&samba, RECORD)).unwrap_or_default();
        // In its place, and not ready: what is lost before the repeat is not missed by it.
        if at(&samba, PLACE).exists() && record.contains("\"cloning\"") {
            moved += 1;
            fs::remove_file(at(&samba, MANIFEST)).unwrap();
            let error = take(&controller, &wanted).unwrap_err();
            assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
        }
        drop_snapshot(&controller, &wanted.snapshot).unwrap();
        is_clean(&samba);
        assert!(at(&samba, "data/sub/file").exists());
    });
    assert!(moved > 0);
}

#[test]
fn a_delete_that_is_cut_is_repeated() {
    let (samba, controller, wanted) = scene(put_one);
    let call = |port| {
        take(&controller, &wanted).unwrap();
        Controller::new(port)
            .delete_snapshot(&wanted.snapshot)
            .is_ok()
    };
    cut_each(&samba, 1, call, |_| {
        let controller = Controller::new(samba.port());
        // What goes is neither listed nor restored, unless it is still whole.
        if listed(&controller).is_empty() {
            let error = restore(&controller, &wanted.snapshot).unwrap_err();
            assert_eq!(error.code(), Code::NotFound, "{error}");
        }
        drop_snapshot(&controller, &wanted.snapshot).unwrap();
        is_clean(&samba);
        assert!(at(&samba, "data/sub/file").exists() && !at(&samba, "new").exists());
    });
}

#[test]
fn a_restore_that_is_cut_is_repeated() {
    let (samba, wanted) = (dressed(fill).0, take_of("data"));
    take(&Controller::new(samba.port()), &wanted).unwrap();
    let place = tree_at(&samba, PLACE);
    let volume = restored(&wanted.snapshot, volume("pvc-1", "new"));
    let call = |port| Controller::new(port).clone_by(&volume, soon()).is_ok();
    cut_each(&samba, 1, call, |was_done| {
        let new = tree_at(&samba, "new");
        assert!(new.is_empty() || was_done || new == place);
        let controller = Controller::new(samba.port());
        restore(&controller, &wanted.snapshot).unwrap();
        assert_eq!(tree_at(&samba, "new"), place);
        assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
        assert!(tree_at(&samba, PLACE) == place && listed(&controller).len() == 1);
    });
}

/// What happens to a snapshot, what a restore then names, and whether the snapshot is still listed.
type Damage = (fn(&Samba), &'static str, bool);

const DAMAGES: [Damage; 9] = [
    (|it| remove(it, "none"), "\"none\"", true),
    (|it| write(it, "more", ""), "\"more\"", true),
    (|it| write(it, "small", "x"), "small", true),
    (|it| write(it, "none", ""), "\"none\"", true),
    (
        |it| {
            fs::remove_dir(at(it, PLACE).join("empty")).unwrap();
            write(it, "empty", "");
        },
        "empty",
        true,
    ),
    (
        |it| edit(it, |it| it.replacen(":4096", ":4095", 1)),
        "was changed",
        true,
    ),
    (
        |it| edit(it, |it| it[..it.len() / 2].to_owned()),
        "manifest",
        false,
    ),
    (|it| edit(it, |it| format!("{it}{{}}\n")), "manifest", false),
    (|it| remove(it, "../snap-1.manifest"), "manifest", false),
];

fn remove(samba: &Samba, name: &str) {
    fs::remove_file(at(samba, PLACE).join(name)).unwrap();
}

/// Writes a file as old as some that `fill` makes.
fn write(samba: &Samba, name: &str, content: &str) {
    let path = at(samba, PLACE).join(name);
    fs::write(&path, content).unwrap();
    fs::File::open(path).unwrap().set_modified(old()).unwrap();
}

fn edit(samba: &Samba, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(at(samba, MANIFEST)).unwrap();
    fs::write(at(samba, MANIFEST), change(&text)).unwrap();
}

/// Guards: P91
#[test]
fn a_damaged_snapshot_is_not_restored() {
    let (samba, controller, wanted) = scene(fill);
    for (number, (damage, named, is_listed)) in DAMAGES.into_iter().enumerate() {
        let taken = take(&controller, &wanted).unwrap();
        damage(&samba);
        assert_eq!(
            listed(&controller).len(),
            usize::from(is_listed),
            "{number}"
        );
        let again = take(&controller, &wanted).map_err(|error| error.code());
        let expected = if is_listed {
            Ok(taken)
        } else {
            Err(Code::FailedPrecondition)
        };
        assert_eq!(again, expected, "{number}");
        let error = restore(&controller, &wanted.snapshot).unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition, "{number} {error}");
        assert!(error.to_string().contains(named), "{number} {error}");
        assert!(!at(&samba, "new").exists() && !at(&samba, ".wincsi/pvc-1.volume").exists());
        drop_snapshot(&controller, &wanted.snapshot).unwrap();
        is_clean(&samba);
    }
}

/// What a person makes of a snapshot's files, and what its delete then names, if it does not work.
type Strange = (fn(&Samba) -> io::Result<()>, Option<&'static str>);

const FOLDER: Option<&str> = Some(r"snapshots\snap-1");
const FILE: Option<&str> = Some("snap-1.snapshot");

const STRANGE: [Strange; 8] = [
    (|it| fs::create_dir(moved_away(it)), FOLDER),
    (|it| fs::write(moved_away(it), "x"), FOLDER),
    (|it| symlink("../../data", moved_away(it)), Some("link")),
    (|it| fs::remove_file(at(it, RECORD)), FOLDER),
    (|it| fs::write(at(it, RECORD), "{}"), FILE),
    (|it| fs::write(at(it, RECORD), [b' '; 70_000]), FILE),
    (|it| fs::write(at(it, MANIFEST), ""), None),
    (|it| fs::remove_dir_all(at(it, PLACE)), None),
];

/// Where the snapshot was.
fn moved_away(samba: &Samba) -> PathBuf {
    let place = at(samba, PLACE);
    fs::rename(&place, at(samba, "away")).unwrap();
    place
}

/// Guards: P87
#[test]
fn only_a_snapshots_own_folder_goes() {
    for (number, (change, stays)) in STRANGE.into_iter().enumerate() {
        let (samba, controller, wanted) = scene(put_one);
        take(&controller, &wanted).unwrap();
        change(&samba).unwrap();
        let before = fs::symlink_metadata(at(&samba, PLACE)).is_ok();
        assert!(listed(&controller).is_empty(), "{number}");
        for _ in 0..2 {
            let deleted = drop_snapshot(&controller, &wanted.snapshot);
            let text = deleted
                .as_ref()
                .map_or_else(ToString::to_string, |()| String::new());
            let code = deleted.map_err(|error| error.code());
            let expected = stays.map_or(Ok(()), |_| Err(Code::FailedPrecondition));
            assert_eq!(code, expected, "{number} {text}");
            assert!(
                stays.is_none_or(|name| text.contains(name)),
                "{number} {text}"
            );
        }
        let is_there = fs::symlink_metadata(at(&samba, PLACE)).is_ok();
        assert_eq!(is_there, before && stays.is_some(), "{number}");
        assert!(at(&samba, "data/sub/file").exists(), "{number}");
    }
}

/// Guards: P87
#[test]
fn no_base_in_a_volume_or_archive_has_snapshots() {
    let (samba, controller) = start();
    let around = volume("pvc-a", "pvc-a");
    let take_in = |base: &str| {
        put(&samba, &format!("{base}/sub"));
        let mut wanted = take_of("sub");
        wanted.volume = None;
        wanted.snapshot.base = crate::fixture::base(base);
        // A process takes the name for the one in the base that had it last.
        let taken = take(&Controller::new(samba.port()), &wanted);
        let is_there = at(&samba, base).join(".wincsi").exists();
        assert_eq!(is_there, taken.is_ok(), "{base}");
        taken.map(drop).map_err(|error| error.code())
    };
    let refused = Err(Code::InvalidArgument);
    // Its record has no id yet.
    begin(&samba, &around);
    assert_eq!(["pvc-a/deep", "pvc-a"].map(take_in), [refused; 2]);
    create(&controller, &around).unwrap();
    let [place, moved] = ["pvc-a", "moved"].map(|path| at(&samba, path));
    // Only the id shows it.
    fs::rename(&place, &moved).unwrap();
    assert_eq!(take_in("moved/deep"), refused);
    // Another folder has the name of one that goes, or that was left.
    let record = at(&samba, ".wincsi/pvc-a.volume");
    let text = fs::read_to_string(&record).unwrap();
    let (before, _) = text.split_once("\"state\":").unwrap();
    fs::write(&record, text.replace("\"ready\"", "\"deleting\"")).unwrap();
    assert_eq!(take_in("pvc-a/deep"), Ok(()));
    fs::write(&record, format!("{before}\"state\":\"left\"}}")).unwrap();
    assert_eq!(take_in("pvc-a"), Ok(()));
    fs::write(&record, text).unwrap();
    fs::remove_dir_all(&place).unwrap();
    fs::rename(&moved, &place).unwrap();
    assert_eq!(take_in("x"), Ok(()));
    assert_eq!(delete(&controller, &gone(&around)).unwrap(), Deleted::Gone);
    fs::rename(at(&samba, "x"), at(&samba, "archived-x")).unwrap();
    let mut archived = named("snap-1");
    archived.base = crate::fixture::base("archived-x");
    drop_snapshot(&controller, &archived).unwrap();
    assert!(
        at(&samba, "archived-x")
            .join(PLACE)
            .join("sub/file")
            .exists()
    );
}

/// A file is written before each of its reads: `strict` fails, `listed` names it and no other.
#[test]
fn a_file_that_changes_is_refused_or_listed() {
    let (samba, _, listed) = scene(fill);
    let strict = Take {
        consistency: Consistency::Strict,
        ..listed.clone()
    };
    for wanted in [strict, listed] {
        let file = at(&samba, "data/large");
        let mut size = 3 << 20;
        let copy = at(&samba, ".wincsi/clones/snap-1.snapshot/large");
        let attack = move |side, _, message: &[u8]| {
            if side == From::Client && copy.exists() {
                size ^= 1;
                fs::write(&file, vec![7; size]).unwrap();
            }
            unchanged(message)
        };
        let controller = Controller::new(between(samba.port(), Box::new(attack)).0);
        match (controller.take(&wanted), wanted.consistency) {
            (Err(error), Consistency::Strict) => {
                assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
                assert!(error.to_string().contains(r"data\large"), "{error}");
                is_clean(&samba);
            }
            (Ok(_), Consistency::Listed) => {
                assert_eq!(controller.volumes.figures().changed(), 1);
                let text = fs::read_to_string(at(&samba, MANIFEST)).unwrap();
                let changed = text
                    .lines()
                    .filter(|line| line.contains("\"changed\":true"));
                let changed: Vec<_> = changed.collect();
                assert!(changed.len() == 1 && changed[0].contains("\"path\":\"large\""));
                let controller = Controller::new(samba.port());
                restore(&controller, &wanted.snapshot).unwrap();
                assert!(is_same(&at(&samba, PLACE), &at(&samba, "new")));
            }
            (done, _) => panic!("{done:?}"),
        }
    }
}

/// Between a cut and the repeat the source changes: the snapshot is of what it has then, and begun when the first call was.
#[test]
fn a_repeated_snapshot_is_of_what_the_source_has() {
    let (samba, _, wanted) = scene(fill);
    let mut number = 0;
    let call = |port| Controller::new(port).take(&wanted).is_ok();
    cut_each(&samba, 7, call, |_| {
        number += 1;
        let controller = Controller::new(samba.port());
        if listed(&controller).is_empty() && !at(&samba, PLACE).exists() {
            CHANGES[number % CHANGES.len()](&at(&samba, "data"));
            take(&controller, &wanted).unwrap();
            assert!(is_same(&at(&samba, "data"), &at(&samba, PLACE)), "{number}");
            restore(&controller, &wanted.snapshot).unwrap();
            assert!(is_same(&at(&samba, "data"), &at(&samba, "new")), "{number}");
            delete(&controller, &gone(&volume("pvc-1", "new"))).unwrap();
            fs::remove_dir_all(at(&samba, "data")).unwrap();
            fs::create_dir(at(&samba, "data")).unwrap();
            fill(&samba);
        }
        drop_snapshot(&controller, &wanted.snapshot).unwrap();
    });
}

/// A snapshot under way keeps its source, and a restore its snapshot; one name is one snapshot.
#[test]
fn nobody_deletes_what_is_copied() {
    let (samba, other, wanted) = scene(put_one);
    let source = volume("pvc-0", "data");
    let copied = at(&samba, ".wincsi/clones/snap-1.snapshot/sub");
    let (hold, attack) = held(unchanged, move |_| copied.exists());
    let slow = Controller::new(between(samba.port(), attack).0);
    thread::scope(|scope| {
        let running = scope.spawn(|| slow.take(&wanted));
        hold.0.recv().unwrap();
        let aborted = [
            other.delete(&gone(&source)).map(drop),
            other.delete_snapshot(&wanted.snapshot),
            slow.delete_snapshot(&wanted.snapshot),
            other.take(&wanted).map(drop),
        ];
        for done in aborted {
            assert_eq!(done.unwrap_err().code(), Code::Aborted);
        }
        let error = restore(&other, &wanted.snapshot).unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{error}");
        assert!(listed(&other).is_empty());
        drop(hold);
        running.join().unwrap().unwrap();
    });
    put(&samba, "second");
    let another = Take {
        source_id: "127.0.0.1/plain#second#pvc-2#".to_owned(),
        volume: None,
        folder: volume("pvc-2", "second").folder,
        ..wanted.clone()
    };
    let error = other.take(&another).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists, "{error}");
    let restored = at(&samba, ".wincsi/clones/pvc-1/sub");
    let (hold, attack) = held(unchanged, move |_| restored.exists());
    let slow = Controller::new(between(samba.port(), attack).0);
    thread::scope(|scope| {
        let running = scope.spawn(|| restore(&slow, &wanted.snapshot));
        hold.0.recv().unwrap();
        let error = other.delete_snapshot(&wanted.snapshot).unwrap_err();
        assert_eq!(error.code(), Code::Aborted, "{error}");
        let beside = self::restored(&wanted.snapshot, volume("pvc-2", "beside"));
        other.clone_by(&beside, soon()).unwrap();
        drop(hold);
        running.join().unwrap().unwrap();
    });
    assert!(at(&samba, "new/sub/file").exists() && at(&samba, "beside/sub/file").exists());
}

#[test]
fn a_snapshot_leaves_a_twentieth_of_the_share_free() {
    let (samba, free) = limited();
    set(&samba, put_one);
    let (wanted, controller) = (take_of("data"), Controller::new(samba.port()));
    leaves_a_twentieth(&free, || {
        let done = controller.take(&wanted).map(drop);
        if done.is_err() {
            let name = &wanted.snapshot.name;
            assert!(!controller.volumes.may_have_left_snapshot(name));
            is_clean(&samba);
        }
        done
    });
    leaves_a_twentieth(&free, || restore(&controller, &wanted.snapshot));
    assert_eq!(controller.volumes.figures().failed(Reason::Space), 8);
}

/// Longer than what is in memory at a time, and than a message.
#[test]
fn a_long_manifest_is_written_while_files_are_copied() {
    const FILES: usize = 2_000;
    let (samba, controller, wanted) = scene(|samba| {
        let files = (0..FILES).map(|n| at(samba, &format!("data/{n:0200}")));
        files.for_each(|file| fs::write(file, "").unwrap());
    });
    let [manifest, copy] =
        [MANIFEST, ".wincsi/clones/snap-1.snapshot"].map(|path| at(&samba, path));
    let copied = Arc::new(AtomicUsize::new(0));
    let then = Arc::clone(&copied);
    let attack = move |_, _, message: &[u8]| {
        let is_written = || fs::metadata(&manifest).is_ok_and(|it| it.len() > 0);
        if then.load(Ordering::Relaxed) == 0 && is_written() {
            let files = fs::read_dir(&copy).map_or(FILES, Iterator::count);
            then.store(files, Ordering::Relaxed);
        }
        unchanged(message)
    };
    let port = between(samba.port(), Box::new(attack)).0;
    Controller::new(port).take(&wanted).unwrap();
    let copied = copied.load(Ordering::Relaxed);
    assert!((1..FILES).contains(&copied), "{copied}");
    restore(&controller, &wanted.snapshot).unwrap();
    assert!(is_same(&at(&samba, "data"), &at(&samba, "new")));
}
