use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;

use wincsi_smb::{CopyOrder, CopyProgress, Failure, FileId, Name, Privacy, Share};

use crate::fixture::{Fixture, MIB, WRITE_THROUGH, at, copy, copy_watched, failure, order};
use crate::server::soon;

const FLUSH: u8 = 7;
const READ: u8 = 8;
const WRITE: u8 = 9;
const IOCTL: u8 = 11;
const RECORDED: [u8; 6] = [READ, WRITE, WRITE_THROUGH, IOCTL, FLUSH, SET_INFO];
const SET_INFO: u8 = 17;

#[test]
fn a_copy_equals_its_source() {
    let fixture = Fixture::with_each_kind();
    // Chunks of the server, and of the client.
    for (name, edge) in [
        ("server", 16 * MIB),
        ("server-next", 17 * MIB),
        ("client", MIB),
    ] {
        for size in [edge - 1, edge, edge + 1] {
            fixture.file(&format!("nested/{name}-{size}"), size);
        }
    }
    let before = fs::metadata(fixture.samba.root().join("victim/precious")).unwrap();
    for (share, privacy, has_copies) in [
        ("plain", Privacy::Offered, true),
        ("plain", Privacy::Required, true),
        ("encrypted", Privacy::Offered, true),
        ("plain", Privacy::Offered, false),
        ("encrypted", Privacy::Required, false),
    ] {
        fixture.clear();
        let mut share = fixture.samba.open(share, privacy);
        let mut expected = (29, 3 * (1 + 16 + 17) * MIB);
        if !has_copies {
            share.without_server_copies();
            for large in fs::read_dir(fixture.source().join("nested"))
                .unwrap()
                .flatten()
            {
                if large.file_name().to_string_lossy().starts_with("server") {
                    fs::remove_file(large.path()).unwrap();
                }
            }
            expected = (23, 3 * MIB);
        }
        let done = copy(&mut share).unwrap();
        fixture.assert_equal(&format!("{privacy:?} {has_copies}"));
        assert_eq!((done.entries, done.unproved), (expected.0, 0));
        assert_eq!(done.bytes, done.written);
        assert!(done.bytes > u64::try_from(expected.1).unwrap());
    }
    // Of a link to a file, the file is copied.
    let copied = fs::symlink_metadata(fixture.target().join("link")).unwrap();
    assert!(copied.is_file() && copied.ino() != before.ino());
}

/// The server says what a file's times and attributes are, where it keeps each of them.
#[test]
fn times_of_creation_are_those_of_the_source() {
    let fixture = Fixture::new("store dos attributes = yes\n");
    fixture.folder("d");
    fixture.file("small", 9);
    fixture.file("large", MIB);
    let mut share = fixture.open();
    let list = |share: &mut wincsi_smb::RemoteShare, folder| {
        let mut entries = share.list(&at(folder), 9, soon()).unwrap().entries;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let basics = entries.into_iter().map(|entry| (entry.name, entry.basic));
        basics.collect::<Vec<_>>()
    };
    let mut source = list(&mut share, "v");
    copy(&mut share).unwrap();
    let mut target = list(&mut share, "copies/c");
    // Who lists a folder accesses it.
    source[0].1.accessed = 0;
    target[0].1.accessed = 0;
    assert_eq!(source, target);
    assert_ne!(source[1].1.accessed, 0);
    let [source, target] = ["", "copies"].map(|folder| list(&mut share, folder));
    let source = source
        .into_iter()
        .find(|(name, _)| *name == Name::new("v").unwrap());
    assert_eq!(source.unwrap().1.created, target[0].1.created);
}

#[test]
fn a_repeated_copy_reads_and_writes_no_content() {
    let fixture = Fixture::with_each_kind();
    let first = copy(&mut fixture.open()).unwrap();
    let (mut share, commands) = fixture.recorded();
    let second = copy(&mut share).unwrap();
    assert_eq!((second.entries, second.bytes), (first.entries, first.bytes));
    assert_eq!(second.written, 0);
    let commands: BTreeSet<u8> = commands.lock().unwrap().iter().copied().collect();
    assert!(
        [READ, WRITE, WRITE_THROUGH, IOCTL]
            .iter()
            .all(|command| !commands.contains(command))
    );
    fixture.assert_equal("repeated");
}

#[test]
fn only_large_files_are_copied_by_the_server() {
    for (has_copies, size, expected) in [
        (true, 65_536, [READ, WRITE_THROUGH].as_slice()),
        (true, 65_537, &[IOCTL, IOCTL, FLUSH]),
        (false, 65_537, &[READ, READ, WRITE, WRITE, FLUSH]),
    ] {
        let fixture = Fixture::new("");
        fixture.file("f", size);
        let (mut share, commands) = fixture.recorded();
        if !has_copies {
            share.without_server_copies();
        }
        copy(&mut share).unwrap();
        fixture.assert_equal("one file");
        let mut commands = commands.lock().unwrap().clone();
        commands.retain(|command| RECORDED.contains(command));
        // The times of the file come last, then those of its folder.
        let expected = [expected, &[SET_INFO, SET_INFO]].concat();
        assert_eq!(commands, expected, "{size} {has_copies}");
    }
}

#[test]
fn a_copy_tells_how_far_it_is_and_can_be_stopped() {
    let fixture = Fixture::with_each_kind();
    let mut seen = Vec::<CopyProgress>::new();
    let done = copy_watched(&mut fixture.open(), |progress| {
        seen.push(*progress);
        ControlFlow::Continue(())
    });
    let done = done.unwrap();
    let begin = seen.iter().position(|now| now.space.is_some()).unwrap();
    let space = seen[begin].space.unwrap();
    assert!(space.free > 0 && space.free <= space.total);
    let (sum, last) = (seen[begin], seen[seen.len() - 1]);
    assert_eq!((sum.of_entries, sum.of_bytes), (done.entries, done.bytes));
    assert_eq!((sum.entries, sum.bytes, sum.written), (0, 0, 0));
    assert_eq!(
        (last.entries, last.bytes, last.written),
        (done.entries, done.bytes, done.written)
    );
    assert!(
        seen.windows(2)
            .all(|w| w[0].written <= w[1].written && w[0].of_bytes <= w[1].of_bytes)
    );

    for number in 0..seen.len() {
        fixture.clear();
        let mut share = fixture.open();
        let mut calls = 0;
        let stopped = copy_watched(&mut share, |_| {
            calls += 1;
            match calls > number {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        assert_eq!(failure(stopped), Failure::Stopped, "{number}");
        if number <= begin {
            assert_eq!(fs::read_dir(fixture.target()).unwrap().count(), 0);
        }
        // The same connection goes on, and nothing of the copy is open any more.
        copy(&mut share).unwrap();
        fixture.assert_equal(&format!("stopped at {number}"));
    }
}

#[test]
fn the_space_is_told_after_each_256_mib() {
    let fixture = Fixture::new("");
    let long = fs::File::create(fixture.source().join("long")).unwrap();
    long.set_len(257 * 1024 * 1024).unwrap();
    let mut told = Vec::new();
    let done = copy_watched(&mut fixture.open(), |progress| {
        told.extend(progress.space.map(|_| progress.written / (1024 * 1024)));
        ControlFlow::Continue(())
    });
    assert_eq!(done.unwrap().written, 257 * 1024 * 1024);
    assert_eq!(told, [0, 256]);
}

#[test]
fn what_cannot_be_copied_is_named_before_a_byte() {
    let fixture = Fixture::new("");
    let mut share = fixture.open();
    fixture.file("before", 9);
    fixture.folder("d");
    fixture.file("d/Data", 9);
    fixture.file("d/data", 9);
    let wrong = copy(&mut share).unwrap_err();
    let Failure::SameName { first, second } = &wrong.failure else {
        panic!("{wrong}");
    };
    assert_eq!(
        BTreeSet::from([first.as_str(), second]),
        BTreeSet::from(["Data", "data"])
    );
    assert!(wrong.object.ends_with(r"\v\d"), "{wrong}");
    assert_eq!(fs::read_dir(fixture.target()).unwrap().count(), 0);
    fs::remove_file(fixture.source().join("d/Data")).unwrap();

    copy(&mut share).unwrap();
    fixture.assert_equal("in the end");
}

#[test]
fn an_order_that_fits_no_folder_is_refused() {
    let fixture = Fixture::new("");
    let mut share = fixture.open();
    fixture.folder("d/deeper/deepest");
    let right = order(&mut share).unwrap();
    let id = FileId(right.source_id.0 + 1_000);
    let changed = |found| Failure::Changed {
        expected: id,
        found,
    };
    let with = |change: &dyn Fn(&mut CopyOrder)| {
        let mut order = right.clone();
        change(&mut order);
        order
    };
    for (order, expected) in [
        (with(&|o| o.depth = 2), Failure::Limit(2)),
        (with(&|o| o.source = at("none")), Failure::NotFound),
        (with(&|o| o.source = at("")), Failure::IsAFolder),
        (
            with(&|o| o.source_share = Name::new("none").unwrap()),
            Failure::NoSuchShare,
        ),
        (with(&|o| o.source_id = id), changed(right.source_id)),
        (with(&|o| o.target_id = id), changed(right.target_id)),
    ] {
        let refused =
            failure(share.copy(&order, &mut |_: &CopyProgress| ControlFlow::Continue(())));
        assert_eq!(refused, expected);
        assert_eq!(fs::read_dir(fixture.target()).unwrap().count(), 0);
    }
}

/// A lock that is held by way of the other share ends with the connection of both.
#[test]
fn shares_beside_each_other_have_one_connection() {
    let fixture = Fixture::new("");
    let mut share = fixture.open();
    let mut beside = share
        .beside(&Name::new("encrypted").unwrap(), soon())
        .unwrap();
    let lock = beside.lock(&at("lock"), soon()).unwrap();
    drop(share);
    let mut other = fixture.open();
    assert_eq!(failure(other.lock(&at("lock"), soon())), Failure::InUse);
    beside.stat(&at("v"), soon()).unwrap();
    beside.close(lock, soon()).unwrap();
    let missing = beside
        .beside(&Name::new("none").unwrap(), soon())
        .err()
        .unwrap();
    assert_eq!(missing.failure, Failure::NoSuchShare);
    beside.stat(&at("v"), soon()).unwrap();

    let lock = other.lock(&at("lock"), soon()).unwrap();
    let space = other.space(&at(""), soon()).unwrap();
    assert!(space.free > 0 && space.free <= space.total);
    let _ = lock;
    // Dropped before, it is closed before the next request of the connection.
    let mut inner = other.beside(&Name::new("plain").unwrap(), soon()).unwrap();
    let inner_lock = inner.lock(&at("inner"), soon()).unwrap();
    drop((inner_lock, inner));
    other.stat(&at("v"), soon()).unwrap();
    let _ = fixture.open().lock(&at("inner"), soon()).unwrap();
}
