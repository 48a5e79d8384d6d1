use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use wincsi_smb::{Entry, Error, Existing, Failure, FileId, Kind, LONGEST_FILE, Name, Privacy};
use wincsi_smb::{RemoteShare, Share, SharePath};

use crate::proxy::{From, Instead, between, one, unchanged};
use crate::server::{PASSWORD, Samba, open, soon, user};

/// Each way to protect messages, which the operations do not notice.
const WAYS: [(&str, Privacy); 3] = [
    ("encrypted", Privacy::Offered),
    ("plain", Privacy::Offered),
    ("plain", Privacy::Required),
];

#[test]
fn folders_are_made_moved_and_removed() {
    let samba = Samba::start();
    for (name, privacy) in WAYS {
        let mut share = samba.open(name, privacy);
        let id = share.make_folder(&at("a"), soon()).unwrap();
        assert_eq!(share.stat(&at("a"), soon()).unwrap(), id);
        let found = entry(&mut share, "a");
        assert_eq!((found.kind, found.id), (Kind::Folder, id));
        let again = failure(share.make_folder(&at("a"), soon()));
        let deep = failure(share.make_folder(&at("b/c"), soon()));
        assert_eq!((again, deep), (Failure::Exists, Failure::NotFound));

        let hidden = share.make_hidden_folder(&at("h"), soon()).unwrap();
        let onto = share.rename(&at("a"), id, &at("h"), Existing::Replace, soon());
        assert_eq!(failure(onto), Failure::Exists);
        let other = FileId(id.0 + 1);
        let wrong = share.rename(&at("a"), other, &at("b"), Existing::Refuse, soon());
        assert_eq!(failure(wrong), changed(other, id));
        let moved = share.rename(&at("a"), id, &at("h/ä b"), Existing::Refuse, soon());
        moved.unwrap();
        assert_eq!(failure(share.stat(&at("a"), soon())), Failure::NotFound);
        assert_eq!(share.stat(&at("h/ä b"), soon()).unwrap(), id);

        let full = share.remove(&at("h"), hidden, soon());
        assert_eq!(failure(full), Failure::NotEmpty);
        let wrong = share.remove(&at("h/ä b"), hidden, soon());
        assert_eq!(failure(wrong), changed(hidden, id));
        share.remove(&at("h/ä b"), id, soon()).unwrap();
        share.remove(&at("h"), hidden, soon()).unwrap();
        assert_eq!(std::fs::read_dir(samba.root()).unwrap().count(), 0);
    }
}

#[test]
fn files_have_the_bytes_that_were_written() {
    let samba = Samba::start();
    for (name, privacy) in WAYS {
        let mut share = samba.open(name, privacy);
        for size in [0, 1, LONGEST_FILE] {
            let content: Vec<u8> = (0..size).map(|n| n.to_le_bytes()[0]).collect();
            let id = put(&mut share, "f", &content);
            assert_eq!(share.read(&at("f"), soon()).unwrap(), content);
            let found = entry(&mut share, "f");
            assert_eq!((found.kind, found.size, found.id), (Kind::File, size, id));
            let again = failure(share.create(&at("f"), b"", soon()));
            let listed = failure(share.list(&at("f"), 9, soon()));
            assert_eq!((again, listed), (Failure::Exists, Failure::NotAFolder));

            let file = share.create(&at("g"), b"new", soon()).unwrap();
            let new = file.id;
            assert_eq!(share.read(&at("g"), soon()).unwrap(), b"new");
            share.place(file, &at("g"), soon()).unwrap();
            let kept = share.rename(&at("g"), new, &at("f"), Existing::Refuse, soon());
            assert_eq!(failure(kept), Failure::Exists);
            let replaced = share.rename(&at("g"), new, &at("f"), Existing::Replace, soon());
            replaced.unwrap();
            assert_eq!(share.read(&at("f"), soon()).unwrap(), b"new");
            put(&mut share, "f", b"newer");
            assert_eq!(share.read(&at("f"), soon()).unwrap(), b"newer");
            share.clear(&at("f"), soon()).unwrap();
            share.clear(&at("f"), soon()).unwrap();
            let file = share.create(&at("g"), b"", soon()).unwrap();
            share.discard(file, soon()).unwrap();
            assert!(names(&mut share, "").is_empty());
        }
        let long = vec![0; 65_537];
        let limit = Failure::Limit(LONGEST_FILE);
        assert_eq!(failure(share.create(&at("f"), &long, soon())), limit);
        std::fs::write(samba.root().join("f"), &long).unwrap();
        assert_eq!(failure(share.read(&at("f"), soon())), limit);
        share.clear(&at("f"), soon()).unwrap();
        let folder = share.make_folder(&at("d"), soon()).unwrap();
        assert_eq!(failure(share.read(&at("d"), soon())), Failure::IsAFolder);
        share.remove(&at("d"), folder, soon()).unwrap();
    }
}

#[test]
fn a_long_file_is_written_and_read_in_parts() {
    let samba = Samba::start();
    for (name, privacy) in WAYS {
        let mut share = samba.open(name, privacy);
        // More than is written in one exchange.
        let parts: Vec<u8> = (0_u64..1_200_000)
            .map(|n| (n / 7).to_le_bytes()[0])
            .collect();
        let file = share.create(&at("f"), &parts[..3], soon()).unwrap();
        share.write_on(&file, 3, &parts[3..], soon()).unwrap();
        share.close(file, soon()).unwrap();
        let mut read = Vec::new();
        loop {
            let part = share.read_on(&at("f"), u64::try_from(read.len()).unwrap(), soon());
            match part.unwrap() {
                part if part.is_empty() => break,
                part => read.extend(part),
            }
        }
        assert!(read == parts);
        share.clear(&at("f"), soon()).unwrap();
    }
}

#[test]
fn names_are_those_that_the_server_has() {
    let samba = Samba::start();
    let mut share = samba.open("encrypted", Privacy::Required);
    let names = ["a b", "a\u{f028}b", "ä", "\u{1f600}", "A", "$x"];
    for name in names {
        put(&mut share, name, name.as_bytes());
    }
    for name in names.iter().filter(|name| !name.contains('\u{f028}')) {
        assert!(samba.root().join(name).exists(), "{name}");
    }
    let listing = share.list(&SharePath::root(), 100, soon()).unwrap();
    assert!(!listing.has_more && listing.above.is_some());
    let root = share.stat(&SharePath::root(), soon()).unwrap();
    assert_eq!(listing.id, root);
    let found: BTreeSet<Name> = listing.entries.iter().map(|e| e.name.clone()).collect();
    assert_eq!(found, names.map(|name| Name::new(name).unwrap()).into());
    for entry in listing.entries {
        let name = entry.name;
        let path = SharePath::root().join(&name).unwrap();
        let text = String::from_utf16(name.units()).unwrap();
        assert_eq!(share.read(&path, soon()).unwrap(), text.as_bytes());
        share.remove(&path, entry.id, soon()).unwrap();
    }
}

#[test]
fn lists_are_as_long_as_their_limit() {
    let samba = Samba::start();
    put_files(&samba, 2_000, 100);
    let mut share = samba.open("encrypted", Privacy::Required);
    for (limit, count, has_more) in [(0, 0, true), (10, 10, true), (2_000, 2_000, false)] {
        let listing = share.list(&SharePath::root(), limit, soon()).unwrap();
        let ids: BTreeSet<FileId> = listing.entries.iter().map(|entry| entry.id).collect();
        assert_eq!((ids.len(), listing.has_more), (count, has_more));
    }
}

/// The second of three portions has an entry with another id: the others of that portion go, the third stays.
#[test]
fn of_many_only_those_with_their_ids_go() {
    let samba = Samba::start();
    put_files(&samba, 150, 3);
    let read_only = samba.root().join("005");
    std::fs::set_permissions(read_only, PermissionsExt::from_mode(0o444)).unwrap();
    let mut share = samba.open("encrypted", Privacy::Required);
    let mut entries = entries(&mut share);
    let expected = entries[71].1;
    let found = std::mem::replace(&mut entries[70].1, expected);
    let wrong = share.remove_each(&entries, soon()).unwrap_err();
    assert_eq!(wrong.failure, Failure::Changed { expected, found });
    assert!(wrong.object.ends_with("070"), "{wrong}");
    let left = [70].into_iter().chain(128..150);
    let left: BTreeSet<String> = left.map(|n| format!("{n:03}")).collect();
    assert_eq!(BTreeSet::from_iter(names(&mut share, "")), left);
    entries[70].1 = found;
    // One that is gone already keeps none beside it.
    let gone = share.remove_each(&entries[69..], soon());
    assert_eq!(failure(gone), Failure::NotFound);
    share.remove_each(&entries[69 + 64..], soon()).unwrap();
    assert_eq!(std::fs::read_dir(samba.root()).unwrap().count(), 0);
}

#[test]
fn answers_in_another_order_find_their_requests() {
    /// After the logon, the share, and five that earn the credits for all at once.
    const FIRST: usize = 4 + 5;
    let samba = Samba::start();
    put_files(&samba, 10, 1);
    let entries = entries(&mut samba.open("plain", Privacy::Offered));
    let mut kept = None;
    let attack = move |from, n, message: &[u8]| match (from, kept.take()) {
        (From::Server, None) if n >= FIRST => {
            kept = Some(message.to_vec());
            Instead::Frames(Vec::new())
        }
        (From::Server, Some(kept)) => Instead::Frames(vec![message.to_vec(), kept]),
        (_, still) => {
            kept = still;
            unchanged(message)
        }
    };
    let (mut share, requests) = through(&samba, attack);
    for (path, _) in &entries[..5] {
        share.stat(path, soon()).unwrap();
    }
    share.remove_each(&entries, soon()).unwrap();
    assert_eq!(std::fs::read_dir(samba.root()).unwrap().count(), 0);
    // For each file one to open it, and one for the rest.
    assert_eq!(*requests.lock().unwrap(), FIRST + 2 * 10);
}

/// The failure that ends the connection is told, though one of an entry came before.
#[test]
fn two_answers_to_one_request_end_the_connection() {
    /// The messages before the removal, and those that open.
    const OPENED: usize = 4 + 5 + 6;
    let samba = Samba::start();
    put_files(&samba, 5, 1);
    let mut entries = entries(&mut samba.open("plain", Privacy::Offered));
    entries.insert(0, (at("missing"), FileId(1)));
    let mut last = Vec::new();
    let attack = move |from, n, message: &[u8]| {
        if (from, n) == (From::Server, OPENED + 1) {
            return Instead::Frames(vec![std::mem::take(&mut last)]);
        }
        if from == From::Server {
            last = message.to_vec();
        }
        unchanged(message)
    };
    let (mut share, _) = through(&samba, attack);
    for (path, _) in &entries[1..] {
        share.stat(path, soon()).unwrap();
    }
    let wrong = failure(share.remove_each(&entries, soon()));
    assert_eq!(wrong, Failure::Malformed("answer, to another request"));
}

/// Samba removes at the close: only that answer tells that it could not.
#[test]
fn what_the_close_could_not_remove_is_not_removed() {
    /// After the logon and the look at the file: the message that opens it, and the one that removes it.
    const REMOVAL: usize = 4 + 1 + 1;
    for by_handle in [false, true] {
        let samba = Samba::start();
        let (folder, away) = (samba.root().join("d"), samba.root().join("away"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("f"), b"x").unwrap();
        let attack = one((From::Client, REMOVAL), move |message| {
            std::fs::rename(&folder, &away).unwrap();
            unchanged(message)
        });
        let (mut share, _) = through(&samba, attack);
        let id = share.stat(&at("d/f"), soon()).unwrap();
        let done = match by_handle {
            true => {
                let moved = share.take(&at("d/f"), id, &at("d/g"), Existing::Refuse, soon());
                moved.and_then(|moved| share.discard(moved, soon()))
            }
            false => share.remove(&at("d/f"), id, soon()),
        };
        assert!(done.is_err(), "{by_handle}");
    }
}

/// A record that is put in its place is on the server's disk before: between plain messages one sees that.
#[test]
fn a_file_is_on_disk_before_it_is_placed() {
    const WRITE: u8 = 9;
    const SET_INFO: u8 = 17;
    let samba = Samba::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let commands = seen.clone();
    let attack = move |from, _, frame: &[u8]| {
        if from == From::Client {
            let all = messages(frame).into_iter();
            let all = all.map(|message| (message[12], message.get(108).copied()));
            commands.lock().unwrap().extend(all);
        }
        unchanged(frame)
    };
    let (mut share, _) = through(&samba, attack);
    put(&mut share, "f", b"x");
    let mut sent = seen.lock().unwrap().clone();
    sent.retain(|(command, _)| [WRITE, SET_INFO].contains(command));
    let [(first, flags), (last, _)] = sent[..] else {
        panic!("{sent:?}");
    };
    let write_through = Some(1);
    assert_eq!((first, flags, last), (WRITE, write_through, SET_INFO));
}

#[test]
fn each_request_has_a_credit() {
    let samba = Samba::start();
    put_files(&samba, 100, 3);
    let entries = entries(&mut samba.open("plain", Privacy::Offered));
    let mut credits = 1;
    let count = move |from, n, frame: &[u8]| {
        for message in messages(frame) {
            match from {
                From::Server => credits += i32::from(message[14]) + 256 * i32::from(message[15]),
                From::Client => credits -= 1,
            }
            assert!(credits >= 0, "message {n} has no credit");
        }
        unchanged(frame)
    };
    let (mut share, _) = through(&samba, count);
    share.remove_each(&entries, soon()).unwrap();
}

/// The messages of a frame in the clear.
fn messages(mut frame: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while !frame.is_empty() {
        let next = u32::from_le_bytes(frame[20..24].try_into().unwrap());
        let end = if next == 0 {
            frame.len()
        } else {
            usize::try_from(next).unwrap()
        };
        let (message, rest) = frame.split_at(end);
        messages.push(message);
        frame = rest;
    }
    messages
}

/// The share `plain`, through a man in the middle who counts requests.
pub(crate) fn through(
    samba: &Samba,
    attack: impl FnMut(From, usize, &[u8]) -> Instead + Send + 'static,
) -> (RemoteShare, Arc<Mutex<usize>>) {
    let (port, requests) = between(samba.port(), Box::new(attack));
    let share = open(port, "plain", &user(), PASSWORD, Privacy::Offered, soon());
    (share.unwrap(), requests)
}

/// Writes a file aside, and puts it in its place.
pub(crate) fn put(share: &mut RemoteShare, path: &str, content: &[u8]) -> FileId {
    let file = share.create(&at("aside"), content, soon()).unwrap();
    let id = file.id;
    share.place(file, &at(path), soon()).unwrap();
    id
}

/// So many files, named by numbers of so many digits.
fn put_files(samba: &Samba, count: usize, digits: usize) {
    for n in 0..count {
        std::fs::write(samba.root().join(format!("{n:0digits$}")), b"x").unwrap();
    }
}

/// The files of the share, by their names.
fn entries(share: &mut RemoteShare) -> Vec<(SharePath, FileId)> {
    let listing = share.list(&SharePath::root(), 1_000, soon()).unwrap();
    let place = |entry: Entry| Some((SharePath::root().join(&entry.name).ok()?, entry.id));
    let mut entries: Vec<_> = listing.entries.into_iter().filter_map(place).collect();
    entries.sort();
    entries
}

pub(crate) fn at(path: &str) -> SharePath {
    SharePath::new(path).unwrap()
}

pub(crate) fn failure<T>(done: Result<T, Error>) -> Failure {
    match done {
        Ok(_) => panic!("it succeeded"),
        Err(error) => error.failure,
    }
}

/// The names in a folder, for texts of tests.
pub(crate) fn names(share: &mut RemoteShare, path: &str) -> Vec<String> {
    let listing = share.list(&at(path), 1_000, soon()).unwrap();
    let names = listing.entries.into_iter().map(|entry| entry.name);
    names.map(|name| name.to_string()).collect()
}

/// A hard link, and a symbolic link, which Samba shows as a file.
#[test]
fn a_read_only_file_keeps_that_by_its_other_name() {
    let samba = Samba::start();
    let kept = samba.root().join("kept");
    std::fs::write(&kept, b"x").unwrap();
    std::fs::set_permissions(&kept, PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::hard_link(&kept, samba.root().join("hard")).unwrap();
    std::os::unix::fs::symlink("kept", samba.root().join("soft")).unwrap();
    let mut share = samba.open("encrypted", Privacy::Required);
    for name in ["hard", "soft"] {
        let id = share.stat(&at(name), soon()).unwrap();
        share.remove(&at(name), id, soon()).unwrap();
        assert!(!samba.root().join(name).exists(), "{name}");
        let mode = std::fs::metadata(&kept).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444, "{name}");
    }
}

fn changed(expected: FileId, found: FileId) -> Failure {
    Failure::Changed { expected, found }
}

/// An entry of the share's own folder.
fn entry(share: &mut RemoteShare, name: &str) -> Entry {
    let name = Name::new(name).unwrap();
    let listing = share.list(&SharePath::root(), 100, soon()).unwrap();
    let mut entries = listing.entries.into_iter();
    entries.find(|entry| entry.name == name).unwrap()
}
