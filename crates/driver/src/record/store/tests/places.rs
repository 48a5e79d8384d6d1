//! A record has one place, whichever calls meet at it.

use std::thread;
use std::time::Instant;

use super::*;

/// Only a test that has failed already waits so long.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_record_that_another_call_read_while_it_was_written_has_one_place() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    let slot = store.slot(&volume()).unwrap();
    let text = record().to_text().unwrap();
    fs::write(folder.path().join(volume().file_name()), text).unwrap();
    let other = store.slot(&volume()).unwrap();
    slot.put(plain()).unwrap();
    other.change(|record| record.state = State::Staged).unwrap();
    assert_eq!(state(slot.get()), Some(State::Staged));
    slot.change(|record| record.state = State::Unstaging)
        .unwrap();
    assert_eq!(state(store.get(&volume())), Some(State::Unstaging));
    slot.remove().unwrap();
    assert_eq!((state(other.get()), store.recorded()), (None, 0));
}

#[test]
fn a_record_is_shared_from_before_its_file_is_there() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    let slot = store.slot(&volume()).unwrap();
    thread::scope(|scope| {
        let unwritten = slot.record_file.text.lock();
        let put = scope.spawn(|| slot.put(plain()));
        wait_until(|| store.has(&volume()));
        let other = store.slot(&volume()).unwrap();
        drop(unwritten);
        put.join().unwrap().unwrap();
        other.change(|record| record.state = State::Staged).unwrap();
    });
    assert_eq!(state(slot.get()), Some(State::Staged));
}

#[test]
fn a_record_that_cannot_be_written_is_none_and_one_that_is_there_stays() {
    let folder = folder();
    let store = Store::open(folder.path(), &FORMS).unwrap();
    let beside = folder.path().join(volume().file_name());
    let beside = beside.with_extension(NEW);
    let slot = store.slot(&volume()).unwrap();
    fs::create_dir(&beside).unwrap();
    slot.put(plain()).unwrap_err();
    assert_eq!(store.recorded(), 0);
    fs::remove_dir(&beside).unwrap();
    slot.put(plain()).unwrap();
    fs::create_dir(&beside).unwrap();
    let mut staged = plain();
    staged.state = State::Staged;
    slot.put(staged).unwrap_err();
    assert_eq!(Vec::from_iter(store.records()), [record()]);
}

fn state(read: Result<Option<Record>, StoreError>) -> Option<State> {
    read.unwrap().map(|record| record.state)
}

fn wait_until(come: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !come() {
        assert!(Instant::now() < deadline);
        thread::yield_now();
    }
}
