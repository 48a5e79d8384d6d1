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
    assert_eq!(failure(second.read(&at("lock"), 9, soon())), Failure::InUse);
    first.unlock(lock, soon()).unwrap();
    assert!(names(&mut first, "").is_empty());
    let lock = second.lock(&at("lock"), soon()).unwrap();
    second.unlock(lock, soon()).unwrap();
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
        assert_eq!(
            failure(third.lock(&at("lock"), soon())),
            Failure::InUse,
            "round {round}"
        );
        second.unlock(lock, soon()).unwrap();
        assert!(names(&mut second, "").is_empty());
    }
}
