//! Files that a scanner holds for a while: no test waits.

use std::cell::Cell;

use super::*;

thread_local! {
    /// The code of changes while the scanner holds the file, and for how many pauses more it does.
    static SCANNER: Cell<(i32, u32)> = const { Cell::new((0, 0)) };
    static PAUSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

static SCANNED: FileSystem = FileSystem {
    create: |file| unheld().and_then(|()| (FILE_SYSTEM.create)(file)),
    rename: |from, to| unheld().and_then(|()| (FILE_SYSTEM.rename)(from, to)),
    remove: |file| unheld().and_then(|()| (FILE_SYSTEM.remove)(file)),
    pause: |time| {
        PAUSED.set(PAUSED.get() + time);
        let (code, left) = SCANNER.get();
        SCANNER.set((code, left.saturating_sub(1)));
    },
};

fn unheld() -> io::Result<()> {
    match SCANNER.get() {
        (_, 0) => Ok(()),
        (code, _) => Err(io::Error::from_raw_os_error(code)),
    }
}

fn hold(code: i32, pauses: u32) {
    SCANNER.set((code, pauses));
    PAUSED.set(Duration::ZERO);
}

fn open(folder: &TempDir) -> Store {
    Store::open_by(&SCANNED, folder.path(), &FORMS, Duration::ZERO).unwrap()
}

#[test]
fn a_file_that_is_held_for_a_while_is_changed() {
    for code in [5, 32, 33] {
        let folder = folder();
        let store = open(&folder);
        let slot = store.slot(&volume()).unwrap();
        hold(code, 3);
        slot.put(plain()).unwrap();
        hold(code, 20);
        slot.change(|record| record.state = State::Staged).unwrap();
        drop(store);
        let left = folder.path().join(volume().file_name()).with_extension(NEW);
        fs::write(&left, "").unwrap();
        hold(code, 20);
        let store = open(&folder);
        assert!(!left.exists());
        assert_eq!(store.volumes(), [volume()]);
        hold(code, 20);
        store.slot(&volume()).unwrap().remove().unwrap();
        assert_eq!(store.volumes(), []);
    }
}

#[test]
fn a_file_that_stays_held_fails_in_half_a_second() {
    let folder = folder();
    let store = open(&folder);
    let slot = store.slot(&volume()).unwrap();
    slot.put(plain()).unwrap();
    hold(32, u32::MAX);
    assert!(slot.remove().is_err());
    assert_eq!(PAUSED.get(), Duration::from_millis(500));
    hold(32, 0);
    assert_eq!(slot.get().unwrap(), Some(record()));
    // Others do not go by themselves.
    hold(2, u32::MAX);
    slot.change(|record| record.state = State::Staged)
        .unwrap_err();
    assert_eq!(PAUSED.get(), Duration::ZERO);
}

#[test]
fn what_stays_of_a_write_keeps_nobody_from_a_start() {
    let folder = folder();
    let left = folder.path().join(volume().file_name()).with_extension(NEW);
    fs::write(&left, "").unwrap();
    hold(32, u32::MAX);
    let store = open(&folder);
    assert!(left.exists());
    hold(32, 0);
    store.slot(&volume()).unwrap().put(plain()).unwrap();
    assert!(!left.exists());
}
