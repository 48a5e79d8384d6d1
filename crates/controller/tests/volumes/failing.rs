//! A share whose n-th operation fails.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use smb::{Existing, Failure, FileId, Listing, OpenFile, Operation, Result, Share, SharePath};
use transport::Code;
use wincsi_controller::volumes::{Asked, Connected, Connector, Created, Deleted, Unrecorded};

use crate::clones::{limited, put_one, set};
use crate::fixture::{
    Controller, Port, archive, at, by_rule, clone_of, create, delete, entries, fill, gone, volume,
};
use crate::server::{Samba, soon};
use crate::snapshots;

/// Operations of which one may fail.
macro_rules! counted {
    ($($name:ident($($argument:ident: $of:ty),*) -> $done:ty = $operation:ident;)*) => {
        $(fn $name(&mut self, $($argument: $of,)* by: Instant) -> Result<$done> {
            self.begin(Operation::$operation)?;
            self.share.$name($($argument,)* by)
        })*
    };
}

const FULL: fn() -> Failure = || Failure::Full;
const DENIED: fn() -> Failure = || Failure::Denied;

/// Guards claims that are deleted after a final code: nobody would delete what is on the share then.
#[test]
fn after_a_final_failure_nothing_is_left() {
    let samba = Samba::start();
    let volume = volume("pvc-1", "ns/data");
    for failure in [|| Failure::Full, || Failure::Denied, || Failure::Status(5)] {
        let count = each_failure(&samba, failure, |number, failing| {
            let failed = failing.create(&volume);
            // A lock that was not given back is no failure.
            if let Err(failed) = &failed {
                let may_have_left = failing.volumes.may_have_left(&volume.name);
                assert!(!may_have_left, "{number} {failed:?}");
                assert_ne!(failed.code(), Code::Unavailable, "{failed:?}");
                has_no_record(&samba);
                assert!(!at(&samba, "ns/data").exists(), "{number}");
            }
            delete(&Controller::new(samba.port()), &gone(&volume)).unwrap();
            failed.is_ok()
        });
        assert!(count > 15, "{count}");
        let controller = Controller::new(samba.port());
        create(&controller, &volume).unwrap();
        let failing = controller.with(Failing::new(&samba, 1, failure));
        assert!(failing.create(&volume).is_err() && controller.volumes.may_have_left(&volume.name));
        delete(&controller, &gone(&volume)).unwrap();
        assert!(!controller.volumes.may_have_left(&volume.name));
    }
}

/// Guards: P91
#[test]
fn after_a_final_failure_nothing_is_left_of_a_clone() {
    let samba = Samba::start();
    let (source, clone) = (volume("pvc-0", "data"), volume("pvc-1", "ns/new"));
    fill(&samba, &source);
    let wanted = snapshots::take_of("data");
    snapshots::take(&Controller::new(samba.port()), &wanted).unwrap();
    let restored = snapshots::restored(&wanted.snapshot, clone.clone());
    let clone = clone_of(&source, clone);
    let failures = [|| Failure::Full, || Failure::Denied, || Failure::Link];
    let mut judged = 0;
    for (clone, failure) in [&clone, &restored]
        .into_iter()
        .flat_map(|one| failures.map(|it| (one, it)))
    {
        let count = each_failure(&samba, failure, |number, failing| {
            let failed = failing.clone_by(clone, soon());
            let is_there = at(&samba, "ns/new").exists();
            if let Err(failed) = &failed
                && !failing.volumes.may_have_left(&clone.name)
            {
                judged += 1;
                assert!(
                    !is_there && failed.code() != Code::Unavailable,
                    "{failed:?}"
                );
                has_no_record(&samba);
                assert!(entries(&samba, ".wincsi/clones").is_empty(), "{number}");
            }
            assert!(!is_there || at(&samba, "ns/new/sub/file").exists());
            let gone = delete(&Controller::new(samba.port()), &gone(clone)).unwrap();
            assert_eq!(gone, Deleted::Gone, "{number}");
            assert!(entries(&samba, ".wincsi/clones").is_empty(), "{number}");
            failed.is_ok()
        });
        assert!(count > 30, "{count}");
    }
    assert!(judged > 20, "{judged}");
    assert_eq!(
        delete(&Controller::new(samba.port()), &gone(&source)).unwrap(),
        Deleted::Gone
    );
}

fn has_no_record(samba: &Samba) {
    let mut records = entries(samba, ".wincsi");
    records.retain(|name| name.contains("pvc-1") && !name.ends_with(".lock"));
    assert!(records.is_empty(), "{records:?}");
}

/// Guards: P91
#[test]
fn nothing_is_left_of_a_snapshot_that_failed() {
    let (samba, _, wanted) = snapshots::scene(put_one);
    let snapshot = &wanted.snapshot;
    let mut judged = 0;
    for failure in [|| Failure::Full, || Failure::Denied] {
        let count = each_failure(&samba, failure, |_, failing| {
            let done = failing.take(&wanted);
            if let Err(failed) = &done
                && !failing.volumes.may_have_left_snapshot(&snapshot.name)
            {
                judged += 1;
                assert_ne!(failed.code(), Code::Unavailable, "{failed:?}");
                snapshots::is_clean(&samba);
            }
            snapshots::drop_snapshot(&Controller::new(samba.port()), snapshot).unwrap();
            snapshots::is_clean(&samba);
            done.is_ok()
        });
        assert!(count > 30, "{count}");
    }
    assert!(judged > 10, "{judged}");
}

/// Also if it gets full once all is copied, as long as the copy is not in its place.
#[test]
fn a_share_that_was_full_is_not_filled_again() {
    let (samba, free) = limited();
    free(500);
    set(&samba, put_one);
    let wanted = snapshots::take_of("data");
    let mut refused = 0;
    each_failure(&samba, FULL, |number, failing| {
        let failed = failing.take(&wanted).is_err();
        let is_in_place = at(&samba, snapshots::PLACE).exists();
        let controller = failing.with(Port::plain(samba.port()));
        match snapshots::take(&controller, &wanted) {
            Err(error) => {
                assert_eq!(error.code(), Code::ResourceExhausted, "{number} {error}");
                refused += 1;
            }
            // Before the copy nothing is known of the space.
            Ok(_) => assert!(!failed || refused == 0 || is_in_place, "{number}"),
        }
        let controller = Controller::new(samba.port());
        snapshots::drop_snapshot(&controller, &wanted.snapshot).unwrap();
        !failed
    });
    assert!(refused > 5, "{refused}");
}

/// It ends with the list of records alone.
#[test]
fn a_list_passes_over_what_may_not_be_read() {
    let (samba, controller, wanted) = snapshots::scene(put_one);
    snapshots::take(&controller, &wanted).unwrap();
    let asked = Asked {
        most: 1,
        ..Asked::default()
    };
    let mut lists = Vec::new();
    each_failure(&samba, DENIED, |_, failing| {
        let listed = failing.snapshots(&wanted.snapshot.base, &asked);
        lists.push(match listed {
            Ok((whole, _)) => Ok(whole.len()),
            Err(error) => Err(error.code()),
        });
        true
    });
    let (last, others) = lists.split_last().unwrap();
    let (first, others) = others.split_first().unwrap();
    assert_eq!((first, last), (&Err(Code::PermissionDenied), &Ok(1)));
    assert!(
        others.len() > 2 && others.iter().all(|listed| *listed == Ok(0)),
        "{others:?}"
    );
}

/// Nothing else makes room there, and there is none for another record beside the one that is there.
#[test]
fn a_full_share_gets_room_by_a_delete() {
    let samba = Samba::on_disk(1 << 20);
    let long = samba.second().join("long");
    fs::write(&long, vec![1; 2 << 20]).unwrap();
    let volume = volume("pvc-1", "data");
    let has = |text: &str| samba.client("recurse; ls").contains(text);
    let ended = || Failure::Ended;
    for deletion in [gone(&volume), archive(&volume)] {
        each_failure(&samba, ended, |number, failing| {
            let controller = Controller::new(samba.port());
            assert_eq!(create(&controller, &volume).unwrap(), Created::Made);
            let put = samba.client(&format!("put {} data/file; ls", long.display()));
            assert!(put.contains(" 0 blocks available"), "{number} {put}");
            let done = failing.delete(&deletion);
            let is_going = has("pvc-1.volume") && has(r"deleted\pvc-1");
            let again = controller.create(&volume);
            assert!(again.is_err() || !is_going, "{number}");
            let deleted = delete(&controller, &deletion).unwrap();
            assert!(!matches!(deleted, Deleted::Left(_)), "{number} {deleted:?}");
            samba.client("deltree archived-data");
            assert!(!has("data") && !has("pvc-1"), "{number}");
            done.is_ok()
        });
    }
}

/// Guards the reason of a call whose time runs out within a try for a lock, not between two tries.
#[test]
fn a_lock_that_was_in_use_is_the_reason() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    create(&controller, &volume("pvc-0", "other")).unwrap();
    let path = SharePath::new(".wincsi/lock").unwrap();
    let (mut holder, _) = Port::plain(samba.port()).open(&[], soon()).unwrap();
    let lock = holder.lock(&path, soon()).unwrap();
    let ends = || Failure::TimedOut;
    let codes: Vec<Code> = (0..20)
        .map(|number| controller.with(Failing::new(&samba, number, ends)))
        .map(|failing| failing.create(&volume("pvc-1", "data")).unwrap_err().code())
        .collect();
    holder.close(lock, soon()).unwrap();
    let timed_out = codes
        .iter()
        .take_while(|code| **code == Code::DeadlineExceeded);
    let (before, after) = codes.split_at(timed_out.count());
    assert!(before.len() > 2 && after.len() > 2, "{codes:?}");
    assert!(after.iter().all(|code| *code == Code::Aborted), "{codes:?}");
}

/// What a delete decided stays decided, though a create of the name fails meanwhile.
#[test]
fn a_failed_create_keeps_what_a_delete_left() {
    let samba = Samba::start();
    let volume = volume("pvc-1", "data");
    let deletion = by_rule(&volume, Unrecorded::Delete);
    let controller = Controller::new(samba.port());
    fs::create_dir(at(&samba, "data")).unwrap();
    create(&controller, &volume).unwrap();
    each_failure(&samba, DENIED, |number, failing| {
        let left = delete(&controller, &deletion).unwrap();
        assert!(matches!(left, Deleted::Left(_)), "{number} {left:?}");
        let _ = failing.create(&volume);
        true
    });
    assert!(at(&samba, "data").exists());
}

/// Calls by controllers whose n-th operation fails, until a call has no more: then it has to be done. Returns how many it has.
fn each_failure(
    samba: &Samba,
    failure: fn() -> Failure,
    mut call: impl FnMut(usize, &Controller) -> bool,
) -> usize {
    for number in 0.. {
        let failing = Failing::new(samba, number, failure);
        let operations = Arc::clone(&failing.operations);
        let is_done = call(number, &Controller::new(samba.port()).with(failing));
        if operations.load(Ordering::Relaxed) <= number {
            assert!(is_done, "{number}");
            return number;
        }
    }
    unreachable!()
}

/// Connects to shares of which one operation fails.
#[derive(Clone)]
struct Failing {
    port: u16,
    number: usize,
    failure: fn() -> Failure,
    operations: Arc<AtomicUsize>,
}

struct FailingShare {
    share: Box<dyn Share + Send>,
    failing: Failing,
}

impl Failing {
    fn new(samba: &Samba, number: usize, failure: fn() -> Failure) -> Self {
        Self {
            port: samba.port(),
            number,
            failure,
            operations: Arc::default(),
        }
    }
}

impl Connector for Failing {
    fn open(&self, folders: &[SharePath], by: Instant) -> Result<Connected> {
        let (share, looked) = Port::plain(self.port).open(folders, by)?;
        let failing = self.clone();
        Ok((Box::new(FailingShare { share, failing }), looked))
    }
}

impl FailingShare {
    fn begin(&mut self, operation: Operation) -> Result<()> {
        if self.failing.operations.fetch_add(1, Ordering::Relaxed) != self.failing.number {
            return Ok(());
        }
        let (object, failure) = ("the object".to_owned(), (self.failing.failure)());
        Err(smb::Error {
            operation,
            object,
            failure,
        })
    }
}

impl Share for FailingShare {
    counted! {
        stat(path: &SharePath) -> FileId = Stat;
        look(folders: &[SharePath]) -> Vec<Result<Listing>> = List;
        list_ending(folder: &SharePath, ending: &str, limit: usize, beside: &[SharePath]) -> (Listing, Vec<Result<Listing>>) = List;
        take(from: &SharePath, id: FileId, to: &SharePath, existing: Existing) -> OpenFile = Rename;
        make_folder(path: &SharePath) -> FileId = MakeFolder;
        make_hidden_folder(path: &SharePath) -> FileId = MakeFolder;
        create(path: &SharePath, content: &[u8]) -> OpenFile = Create;
        read(path: &SharePath) -> Vec<u8> = Read;
        read_on(path: &SharePath, at: u64) -> Vec<u8> = Read;
        write_on(file: &OpenFile, at: u64, content: &[u8]) -> () = Create;
        overwrite(path: &SharePath, content: &[u8]) -> () = Create;
        clear(path: &SharePath) -> () = Remove;
        remove_each(entries: &[(SharePath, FileId)]) -> () = Remove;
        lock(path: &SharePath) -> OpenFile = Lock;
        lock_beside(path: &SharePath) -> OpenFile = Lock;
        close(file: OpenFile) -> () = Close;
        space(folder: &SharePath) -> smb::Space = Space;
    }

    fn beside(&mut self, share: &smb::Name, by: Instant) -> Result<Box<dyn Share + Send>> {
        self.begin(Operation::OpenShare)?;
        let (share, failing) = (self.share.beside(share, by)?, self.failing.clone());
        Ok(Box::new(Self { share, failing }))
    }

    fn copy(&mut self, order: &smb::CopyOrder, watch: &mut dyn smb::Watch) -> Result<smb::Copied> {
        self.begin(Operation::Copy)?;
        self.share.copy(order, watch)
    }

    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<u64> {
        match self.begin(Operation::Rename) {
            Ok(()) => self.share.place(file, to, by),
            // The file is closed in any case.
            Err(error) => {
                let aside = file.path.clone();
                self.share.place(file, &aside, by).and(Err(error))
            }
        }
    }

    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        self.share.discard(file, by)
    }
}
