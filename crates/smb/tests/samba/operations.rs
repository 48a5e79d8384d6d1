use std::os::unix::ffi::OsStrExt;

use wincsi_smb::{Error, Visibility};
use wincsi_smb::{Existing, Failure, FileId, Kind, Name, Privacy, RemoteShare, Share, SharePath};

use crate::server::{Samba, soon};

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
        let id = share
            .make_folder(&at("a"), Visibility::Shown, soon())
            .unwrap();
        let found = share.stat(&at("a"), soon()).unwrap();
        assert_eq!((found.kind, found.id), (Kind::Folder, id));
        let again = share.make_folder(&at("a"), Visibility::Shown, soon());
        assert_eq!(failure(again), Failure::Exists);
        let deep = share.make_folder(&at("b/c"), Visibility::Shown, soon());
        assert_eq!(failure(deep), Failure::NotFound);

        let hidden = share
            .make_folder(&at("h"), Visibility::Hidden, soon())
            .unwrap();
        let onto = share.rename(&at("a"), id, &at("h"), Existing::Replace, soon());
        assert_eq!(failure(onto), Failure::Exists);
        let other = FileId(id.0 + 1);
        let wrong = share.rename(&at("a"), other, &at("b"), Existing::Refuse, soon());
        let expected = Failure::Changed {
            expected: other,
            found: id,
        };
        assert_eq!(failure(wrong), expected);
        share
            .rename(&at("a"), id, &at("h/ä b"), Existing::Refuse, soon())
            .unwrap();
        assert_eq!(failure(share.stat(&at("a"), soon())), Failure::NotFound);
        assert_eq!(share.stat(&at("h/ä b"), soon()).unwrap().id, id);

        let full = share.remove(&at("h"), hidden, soon());
        assert_eq!(failure(full), Failure::NotEmpty);
        let wrong = share.remove(&at("h/ä b"), hidden, soon());
        assert_eq!(
            failure(wrong),
            Failure::Changed {
                expected: hidden,
                found: id
            }
        );
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
        for size in [0, 1, 65_536, 65_537, 200_000_u64] {
            let content: Vec<u8> = (0..size).map(|n| n.to_le_bytes()[0]).collect();
            let id = share.create(&at("f"), &content, soon()).unwrap();
            assert_eq!(share.read(&at("f"), size, soon()).unwrap(), content);
            if size > 0 {
                let long = share.read(&at("f"), size - 1, soon());
                assert_eq!(failure(long), Failure::Limit(size - 1));
            }
            let found = share.stat(&at("f"), soon()).unwrap();
            assert_eq!((found.kind, found.size, found.id), (Kind::File, size, id));
            assert_eq!(
                failure(share.create(&at("f"), b"", soon())),
                Failure::Exists
            );
            assert_eq!(
                failure(share.list(&at("f"), 9, soon())),
                Failure::NotAFolder
            );

            let new = share.create(&at("g"), b"new", soon()).unwrap();
            let kept = share.rename(&at("g"), new, &at("f"), Existing::Refuse, soon());
            assert_eq!(failure(kept), Failure::Exists);
            share
                .rename(&at("g"), new, &at("f"), Existing::Replace, soon())
                .unwrap();
            assert_eq!(share.read(&at("f"), 9, soon()).unwrap(), b"new");
            share.remove(&at("f"), new, soon()).unwrap();
        }
        let folder = share
            .make_folder(&at("d"), Visibility::Shown, soon())
            .unwrap();
        assert_eq!(failure(share.read(&at("d"), 9, soon())), Failure::IsAFolder);
        share.remove(&at("d"), folder, soon()).unwrap();
    }
}

#[test]
fn names_are_those_that_the_server_has() {
    let samba = Samba::start();
    let mut share = samba.open("encrypted", Privacy::Required);
    let names = ["a b", "a\u{f028}b", "ä", "\u{1f600}", "A", "$x"];
    for name in names {
        share.create(&at(name), name.as_bytes(), soon()).unwrap();
    }
    let on_disk: Vec<Vec<u8>> = std::fs::read_dir(samba.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
        .collect();
    for name in names.iter().filter(|name| !name.contains('\u{f028}')) {
        assert!(on_disk.contains(&name.as_bytes().to_vec()), "{name}");
    }
    let listing = share.list(&SharePath::root(), 100, soon()).unwrap();
    assert!(!listing.has_more && listing.itself.is_some() && listing.above.is_some());
    let mut found: Vec<Name> = listing
        .entries
        .iter()
        .filter_map(|e| e.name.clone())
        .collect();
    let mut expected: Vec<Name> = names.iter().map(|name| Name::new(name).unwrap()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    for entry in listing.entries {
        let name = entry.name.unwrap();
        let path = SharePath::root().join(&name).unwrap();
        let text = String::from_utf16(name.units()).unwrap();
        assert_eq!(share.read(&path, 99, soon()).unwrap(), text.as_bytes());
        share.remove(&path, entry.id, soon()).unwrap();
    }
}

#[test]
fn lists_are_as_long_as_their_limit() {
    let samba = Samba::start();
    for n in 0..2_000 {
        std::fs::write(samba.root().join(format!("{n:0100}")), b"").unwrap();
    }
    let mut share = samba.open("encrypted", Privacy::Required);
    for (limit, count, has_more) in [(0, 0, true), (10, 10, true), (2_000, 2_000, false)] {
        let listing = share.list(&SharePath::root(), limit, soon()).unwrap();
        let mut ids: Vec<FileId> = listing.entries.iter().map(|entry| entry.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), listing.has_more), (count, has_more));
    }
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
    let names = listing.entries.into_iter().filter_map(|entry| entry.name);
    names.map(|name| name.to_string()).collect()
}
