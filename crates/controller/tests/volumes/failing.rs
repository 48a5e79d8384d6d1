//! A share whose n-th operation fails.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use smb::{Existing, Failure, FileId, Listing, OpenFile, Operation, Result, Share, SharePath};
use transport::Code;
use wincsi_controller::volumes::{Connected, Connector, Deleted, Unrecorded};

use crate::clones::{limited, set};
use crate::fixture::{
    Controller, Port, at, by_rule, clone_of, create, delete, entries, fill, gone, put, volume,
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

/// Guards claims that are deleted after a final code: nobody would delete what is on the share then.
#[test]
fn after_a_final_failure_nothing_is_left() {
    let samba = Samba::start();
    let volume = volume("pvc-1", "ns/data");
    for failure in [|| Failure::Full, || Failure::Denied, || Failure::Status(5)] {
        for number in 0.. {
            let controller = Controller::new(samba.port());
            let failing = Failing::new(&samba, number, failure);
            let operations = Arc::clone(&failing.operations);
            let failed = controller.with(failing).create(&volume);
            if operations.load(Ordering::Relaxed) <= number {
                assert!(number > 15 && failed.is_ok(), "{number} {failed:?}");
                break;
            }
            // A lock that was not given back is no failure.
            if let Err(failed) = failed {
                let may_have_left = controller.volumes.may_have_left(&volume.name);
                assert!(!may_have_left, "{number} {failed:?}");
                assert_ne!(failed.code(), Code::Unavailable, "{failed:?}");
                let mut records = entries(&samba, ".wincsi");
                records.retain(|name| name.contains("pvc-1") && !name.ends_with(".lock"));
                assert!(records.is_empty(), "{number} {records:?}");
                assert!(!at(&samba, "ns/data").exists(), "{number}");
            }
            delete(&Controller::new(samba.port()), &gone(&volume)).unwrap();
        }
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
    let clone = clone_of(&source, clone);
    let mut judged = 0;
    for failure in [|| Failure::Full, || Failure::Denied, || Failure::Link] {
        for number in 0.. {
            let controller = Controller::new(samba.port());
            let failing = Failing::new(&samba, number, failure);
            let operations = Arc::clone(&failing.operations);
            let failed = controller.with(failing).clone_by(&clone, soon());
            let is_there = at(&samba, "ns/new").exists();
            if let Err(failed) = &failed
                && !controller.volumes.may_have_left(&clone.name)
            {
                judged += 1;
                assert!(
                    !is_there && failed.code() != Code::Unavailable,
                    "{failed:?}"
                );
                let mut records = entries(&samba, ".wincsi");
                records.retain(|name| name.contains("pvc-1") && !name.ends_with(".lock"));
                assert!(records.is_empty(), "{number} {records:?}");
                assert!(entries(&samba, ".wincsi/clones").is_empty(), "{number}");
            }
            assert!(!is_there || at(&samba, "ns/new/sub/file").exists());
            let gone = delete(&Controller::new(samba.port()), &gone(&clone)).unwrap();
            assert_eq!(gone, Deleted::Gone, "{number}");
            assert!(entries(&samba, ".wincsi/clones").is_empty(), "{number}");
            if operations.load(Ordering::Relaxed) <= number {
                assert!(number > 30 && failed.is_ok(), "{number} {failed:?}");
                break;
            }
        }
    }
    assert!(judged > 10, "{judged}");
    assert_eq!(
        delete(&Controller::new(samba.port()), &gone(&source)).unwrap(),
        Deleted::Gone
    );
}

/// Guards: P91
#[test]
fn nothing_is_left_of_a_snapshot_that_failed() {
    let (samba, _, wanted) = snapshots::scene(|samba| put(samba, "data"));
    let snapshot = &wanted.snapshot;
    let mut judged = 0;
    for failure in [|| Failure::Full, || Failure::Denied] {
        for number in 0.. {
            let controller = Controller::new(samba.port());
            let failing = Failing::new(&samba, number, failure);
            let operations = Arc::clone(&failing.operations);
            let done = controller.with(failing).take(&wanted);
            if let Err(failed) = &done
                && !controller.volumes.may_have_left_snapshot(&snapshot.name)
            {
                judged += 1;
                assert_ne!(failed.code(), Code::Unavailable, "{failed:?}");
                snapshots::is_clean(&samba);
            }
            snapshots::drop_snapshot(&Controller::new(samba.port()), snapshot).unwrap();
            snapshots::is_clean(&samba);
            if operations.load(Ordering::Relaxed) <= number {
                assert!(number > 30 && done.is_ok(), "{number} {done:?}");
                break;
            }
        }
    }
    assert!(judged > 10, "{judged}");
}

/// Also if it gets full once all is copied.
#[test]
fn a_share_that_was_full_is_not_filled_again() {
    let (samba, free) = limited();
    free(500);
    set(&samba, |samba| put(samba, "data"));
    let wanted = snapshots::take_of("data");
    let mut refused = 0;
    for number in 0.. {
        let controller = Controller::new(samba.port());
        let failing = Failing::new(&samba, number, || Failure::Full);
        let operations = Arc::clone(&failing.operations);
        if controller.with(failing).take(&wanted).is_err()
            && let Err(error) = snapshots::take(&controller, &wanted)
        {
            assert_eq!(error.code(), Code::ResourceExhausted, "{number} {error}");
            refused += 1;
        }
        let snapshot = &wanted.snapshot;
        snapshots::drop_snapshot(&Controller::new(samba.port()), snapshot).unwrap();
        if operations.load(Ordering::Relaxed) <= number {
            break;
        }
    }
    assert!(refused > 5, "{refused}");
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
    for number in 0.. {
        let left = delete(&controller, &deletion).unwrap();
        assert!(matches!(left, Deleted::Left(_)), "{number} {left:?}");
        let failing = Failing::new(&samba, number, || Failure::Denied);
        let operations = Arc::clone(&failing.operations);
        let _ = Controller::new(samba.port()).with(failing).create(&volume);
        if operations.load(Ordering::Relaxed) <= number {
            break;
        }
    }
    assert!(at(&samba, "data").exists());
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
