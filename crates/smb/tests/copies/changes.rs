use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use wincsi_smb::{
    CopiedEntry, CopyOrder, CopyProgress, Failure, RemoteShare, Share, Unsteady, Watch,
};

use crate::fixture::{Fixture, content, copy, once, order, rewrite, write};
use crate::proxy::{From, unchanged};

/// Sizes, and whether the server copies. The last of each kind takes several requests.
const CASES: [(usize, bool); 5] = [
    (5_000, true),
    (70_000, true),
    (17 * 1024 * 1024, true),
    (70_000, false),
    (1_200_000, false),
];

/// At each request once: what is copied is one version or the other, by size, time and bytes.
#[test]
fn a_file_that_changes_is_copied_as_one_version() {
    for (size, has_copies) in CASES {
        let fixture = Fixture::new("");
        let versions = [0, 1].map(|version| content("f", size, version));
        for number in 0.. {
            fixture.clear();
            let place = fixture.source().join("f");
            rewrite(&place, &versions[0], 0);
            let (file, second) = (place.clone(), versions[1].clone());
            let (attack, is_done) = once(number, move || rewrite(&file, &second, 1));
            let mut share = fixture.attacked(attack);
            if !has_copies {
                share.without_server_copies();
            }
            copy(&mut share).unwrap();
            let copied = fixture.target().join("f");
            let written = |file| fs::metadata(file).unwrap().modified().unwrap();
            let is_done = is_done.load(Ordering::SeqCst);
            let is_second = is_done && written(&copied) == written(&place);
            let expected = &versions[usize::from(is_second)];
            let what = format!("{size} {has_copies}, request {number}: {is_second}");
            assert!(fs::read(copied).unwrap() == *expected, "{what}");
            if !is_done {
                break;
            }
        }
    }
}

/// A share with a file `f`, which before each answer of the server gets the one or the other of two sizes.
fn restless(fixture: &Fixture, sizes: [usize; 2], has_copies: bool) -> RemoteShare {
    let file = fixture.file("f", sizes[0]);
    let versions = [(0, sizes[0]), (1, sizes[1])].map(|(n, size)| content("f", size, n));
    let mut version = 0;
    let attack = move |from, n, message: &[u8]| {
        if from == From::Server && n > 8 {
            version += 1;
            rewrite(&file, &versions[usize::from(version % 2)], version);
        }
        unchanged(message)
    };
    let mut share = fixture.attacked(Box::new(attack));
    if !has_copies {
        share.without_server_copies();
    }
    share
}

/// A small one is opened, read and closed in one message.
#[test]
fn a_large_file_that_never_rests_is_named() {
    for (size, has_copies) in &CASES[1..] {
        let fixture = Fixture::new("");
        let mut share = restless(&fixture, [*size; 2], *has_copies);
        let unsteady = copy(&mut share).unwrap_err();
        assert_eq!(unsteady.failure, Failure::Unsteady, "{size}");
        assert!(unsteady.object.ends_with(r"\v\f"), "{unsteady}");
        assert_eq!(fs::read_dir(fixture.target()).unwrap().count(), 0);
    }
}

/// The paths of entries, by whether they were steady, and their sizes.
#[derive(Default)]
struct Seen(Vec<(String, bool, u64)>);

impl Watch for Seen {
    fn see(&mut self, _: &CopyProgress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn whole(&mut self, entry: &CopiedEntry<'_>) -> ControlFlow<()> {
        let path = entry.path.to_string();
        self.0.push((path, entry.is_steady, entry.size));
        ControlFlow::Continue(())
    }
}

/// It shrinks and grows at each request: its third copy stays, and the watch is told its size.
#[test]
fn a_file_that_never_rests_is_kept_and_told() {
    for (size, has_copies) in &CASES[1..] {
        let fixture = Fixture::new("");
        fixture.folder("d");
        fixture.file("d/rests", 70_000);
        // Neither is small: those are read in one message.
        let mut share = restless(&fixture, [size - 1, size - 2_000], *has_copies);
        let order = CopyOrder {
            unsteady: Unsteady::Keep,
            ..order(&mut share).unwrap()
        };
        let mut seen = Seen::default();
        share.copy(&order, &mut seen).unwrap();
        seen.0.sort();
        let copied = fs::metadata(fixture.target().join("f")).unwrap().len();
        let expected = [
            (r"\copies\c\d", true, 0),
            (r"\copies\c\d\rests", true, 70_000),
            (r"\copies\c\f", false, copied),
        ];
        let expected = expected.map(|(path, is_steady, size)| (path.to_owned(), is_steady, size));
        assert_eq!(seen.0, expected, "{size} {has_copies}");
    }
}

/// At each request once: what was not copied yet seems to be gone then.
#[test]
fn a_source_that_is_moved_away_is_not_half_copied() {
    // More than are copied together.
    const FILES: usize = 70;
    let fixture = Fixture::new("");
    for number in 0..FILES {
        fixture.file(&format!("f{number}"), 10);
    }
    let away = fixture.samba.root().join("away");
    for number in (0..).step_by(2) {
        fixture.clear();
        let [source, to] = [fixture.source(), away.clone()];
        let (attack, is_done) = once(number, move || fs::rename(&source, &to).unwrap());
        let done = copy(&mut fixture.attacked(attack));
        let copied = fs::read_dir(fixture.target()).unwrap().count();
        assert!(
            done.is_err() || copied == FILES,
            "request {number}: {copied}"
        );
        if !is_done.load(Ordering::SeqCst) {
            done.unwrap();
            break;
        }
        fs::rename(&away, fixture.source()).unwrap();
    }
}

/// At each request once: the copy ends, or names what failed, and a repeat makes it equal.
#[test]
fn a_source_that_loses_and_gets_entries_is_copied() {
    let fixture = Fixture::with_each_kind();
    for number in 0.. {
        fixture.fill();
        fixture.clear();
        let source = fixture.source();
        let (attack, is_done) = once(number, move || {
            fs::remove_dir_all(source.join("nested")).unwrap();
            fs::remove_file(source.join("size-65537")).unwrap();
            fs::remove_file(source.join("size-1")).unwrap();
            fs::create_dir(source.join("size-1")).unwrap();
            write(&source.join("hidden"), "hidden", 9, 1);
            fs::rename(source.join("hidden"), source.join("system")).unwrap();
            fs::write(source.join("new"), b"new").unwrap();
        });
        let done = copy(&mut fixture.attacked(attack));
        if let Err(error) = &done {
            assert!(!error.failure.ends_connection(), "{error}");
            let is_named = [r"\v\", r"\c\"]
                .iter()
                .any(|text| error.object.contains(text));
            assert!(is_named, "{error}");
        }
        copy(&mut fixture.open()).unwrap();
        fixture.assert_equal(&format!("request {number}"));
        if !is_done.load(Ordering::SeqCst) {
            done.unwrap();
            assert!(number > 40, "{number}");
            break;
        }
    }
}
