use std::thread;

use wincsi_smb::{Failure, Privacy, Share};

use crate::operations::{at, failure, names};
use crate::server::{Samba, soon};

#[test]
fn a_lock_has_one_holder_until_it_ends() {
    let samba = Samba::start();
    let mut first = samba.open("encrypted", Privacy::Required);
    let mut second = samba.open("encrypted", Privacy::Required);
    let lock = first.lock(&at("lock"), soon()).unwrap();
    assert_eq!(failure(second.lock(&at("lock"), soon())), Failure::InUse);
    assert_eq!(failure(first.lock(&at("lock"), soon())), Failure::InUse);
    let read = failure(second.read(&at("lock"), soon()));
    assert_eq!(read, Failure::InUse);
    first.close(lock, soon()).unwrap();
    assert!(names(&mut first, "").is_empty());
    let lock = second.lock(&at("lock"), soon()).unwrap();
    second.close(lock, soon()).unwrap();
}

/// A link in the place of the lock's folder may lead to it.
#[test]
fn a_file_that_someone_wrote_is_no_lock() {
    let samba = Samba::start();
    let theirs = samba.root().join("lock");
    std::fs::write(&theirs, b"x").unwrap();
    let mut share = samba.open("encrypted", Privacy::Required);
    assert_eq!(failure(share.lock(&at("lock"), soon())), Failure::Exists);
    assert_eq!(std::fs::read(&theirs).unwrap(), b"x");
    // One that a client left, as it ended before its lock was whole.
    std::fs::write(&theirs, b"").unwrap();
    let lock = share.lock(&at("lock"), soon()).unwrap();
    share.close(lock, soon()).unwrap();
    assert!(!theirs.exists());
}

/// Samba may open a file that it is just removing: then two clients would have the lock.
#[test]
fn a_lock_ends_with_its_connection() {
    let samba = Samba::start();
    let mut second = samba.open("encrypted", Privacy::Required);
    let mut third = samba.open("encrypted", Privacy::Required);
    for round in 0..30 {
        let mut first = samba.open("encrypted", Privacy::Required);
        let _lock = first.lock(&at("lock"), soon()).unwrap();
        drop(first);
        let until = soon();
        // The server notices the end on its own time.
        let lock = loop {
            match second.lock(&at("lock"), until) {
                Ok(lock) => break lock,
                Err(error) => assert_eq!(error.failure, Failure::InUse, "round {round}"),
            }
            thread::yield_now();
        };
        let refused = failure(third.lock(&at("lock"), soon()));
        assert_eq!(refused, Failure::InUse, "round {round}");
        second.close(lock, soon()).unwrap();
        assert!(names(&mut second, "").is_empty());
    }
}

/// Several clones of a volume run at a time, and no delete of it.
#[test]
fn a_lock_beside_others_keeps_only_lock_out() {
    let samba = Samba::start();
    let [mut one, mut two, mut third] =
        [(); 3].map(|()| samba.open("encrypted", Privacy::Required));
    let file = samba.root().join("lock");
    for round in 0..3 {
        let first = one.lock_beside(&at("lock"), soon()).unwrap();
        let second = two.lock_beside(&at("lock"), soon()).unwrap();
        one.close(first, soon()).unwrap();
        assert_eq!(failure(third.lock(&at("lock"), soon())), Failure::InUse);
        // The end of one keeps no third one out.
        let first = one.lock_beside(&at("lock"), soon()).unwrap();
        one.close(first, soon()).unwrap();
        two.close(second, soon()).unwrap();
        let alone = third.lock(&at("lock"), soon()).unwrap();
        let refused = failure(one.lock_beside(&at("lock"), soon()));
        assert_eq!(refused, Failure::InUse, "round {round}");
        third.close(alone, soon()).unwrap();
        assert!(!file.exists());
    }
    std::fs::write(&file, b"x").unwrap();
    assert_eq!(
        failure(one.lock_beside(&at("lock"), soon())),
        Failure::Exists
    );
    // One that its holder's connection ends.
    std::fs::remove_file(&file).unwrap();
    let _lock = one.lock_beside(&at("lock"), soon()).unwrap();
    drop(one);
    let until = soon();
    while let Err(error) = third.lock(&at("lock"), until) {
        assert_eq!(error.failure, Failure::InUse);
        thread::yield_now();
    }
}
