//! Snapshots by their requests: ids, lists and their pages, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use transport::{Code, Status};
use wire::csi::v1::controller::{CreateSnapshot, DeleteSnapshot, ListSnapshots};
use wire::csi::v1::{CreateSnapshotRequest, DeleteSnapshotRequest, ListSnapshotsRequest, Snapshot};

use crate::fixture::{Fixture, NOWHERE, Pairs, map, request, restore_of, secrets, set, source};
use crate::server::{Samba, user};

const BLOCKED: Code = Code::FailedPrecondition;
const INVALID: Code = Code::InvalidArgument;
const MISSING: Code = Code::NotFound;
const VOLUME: &str = "127.0.0.1/encrypted#pvc-1##";
const ID: &str = "snapshot#127.0.0.1/encrypted#snap-1";

impl Fixture {
    fn take(&self, request: &CreateSnapshotRequest) -> Result<Snapshot, Status> {
        Ok(self.call::<CreateSnapshot>(request)?.snapshot.unwrap())
    }

    fn drop_snapshot(&self, id: &str, secrets: &Pairs) -> Code {
        let request = DeleteSnapshotRequest {
            snapshot_id: id.to_owned(),
            secrets: secrets.clone(),
        };
        let deleted = self.call::<DeleteSnapshot>(&request);
        deleted.map_or_else(|status| status.code, |_| Code::Ok)
    }

    /// The names of the snapshots on a page, and the token of the next one.
    fn page(&self, request: &ListSnapshotsRequest) -> Result<(Vec<String>, String), Status> {
        let answer = self.call::<ListSnapshots>(request)?;
        let snapshots = answer
            .entries
            .into_iter()
            .map(|entry| entry.snapshot.unwrap());
        let ids = snapshots.map(|it| {
            assert!(it.ready_to_use && it.creation_time.is_some());
            it.snapshot_id.rsplit('#').next().unwrap().to_owned()
        });
        Ok((ids.collect(), answer.next_token))
    }
}

fn wanted(name: &str, volume: &str, port: u16) -> CreateSnapshotRequest {
    let mut wanted = CreateSnapshotRequest::default();
    wanted.name = name.to_owned();
    wanted.source_volume_id = volume.to_owned();
    wanted.secrets = secrets(port);
    wanted
}

fn listing(port: u16) -> ListSnapshotsRequest {
    let mut listing = ListSnapshotsRequest::default();
    listing.secrets = secrets(port);
    listing
}

fn with_sources(port: u16, sources: &str) -> ListSnapshotsRequest {
    let mut listing = listing(port);
    listing
        .secrets
        .insert("Source".to_owned(), sources.to_owned());
    listing
}

/// A server with a volume of one file.
fn with_volume() -> (Samba, Fixture) {
    with_volume_on(Samba::start())
}

fn with_volume_on(samba: Samba) -> (Samba, Fixture) {
    let fixture = Fixture::with(&[]);
    fixture.create(&request("pvc-1", samba.port())).unwrap();
    fs::write(samba.root().join("pvc-1/file"), "x").unwrap();
    (samba, fixture)
}

#[test]
fn a_snapshot_is_made_restored_and_deleted() {
    let (samba, fixture) = with_volume();
    let port = samba.port();
    let taken = fixture.take(&wanted("snap-1", VOLUME, port)).unwrap();
    assert_eq!(
        (taken.snapshot_id.as_str(), taken.source_volume_id.as_str()),
        (ID, VOLUME)
    );
    assert!(taken.ready_to_use && taken.size_bytes == 1 << 30);
    let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let age = since.abs_diff(taken.creation_time.unwrap().seconds.try_into().unwrap());
    assert!(age < 3_600, "{age}");
    let again = Fixture::with(&[])
        .take(&wanted("snap-1", VOLUME, port))
        .unwrap();
    assert_eq!(again, taken);
    let before = fs::read_dir(samba.root()).unwrap().count();
    for id in [ID, "snapshot#127.0.0.1/encrypted/pvc-1#pvc-1"] {
        assert_eq!(fixture.delete(id, &secrets(port)), Code::Ok);
    }
    assert_eq!(fs::read_dir(samba.root()).unwrap().count(), before);
    let mut restored = request("pvc-2", port);
    restore_of(&mut restored, ID);
    let volume = fixture.create(&restored).unwrap();
    assert_eq!(volume.content_source, restored.volume_content_source);
    assert_eq!(fixture.delete(VOLUME, &secrets(port)), Code::Ok);
    assert_eq!(fixture.drop_snapshot(ID, &secrets(port)), Code::Ok);
    assert_eq!(fixture.drop_snapshot(ID, &secrets(port)), Code::Ok);
    assert_eq!(
        fs::read_to_string(samba.root().join("pvc-2/file")).unwrap(),
        "x"
    );
    assert_eq!(fixture.create(&restored).unwrap(), volume);
    assert_eq!(fixture.delete(&volume.volume_id, &secrets(port)), Code::Ok);
    assert_eq!(fs::read_dir(samba.root()).unwrap().count(), 1);
}

const NO_FOLDER: &str = "folder of their own";
const NO_BASE: &str = "base folder";

fn of(wanted: &mut CreateSnapshotRequest, volume: &str) {
    volume.clone_into(&mut wanted.source_volume_id);
}

/// What is changed in a request, the answer, and a part of its text.
type Refusal = (fn(&mut CreateSnapshotRequest), Code, &'static str);

const REFUSALS: &[Refusal] = &[
    (|it| it.name.clear(), INVALID, "name"),
    (|it| it.name = "a/b".to_owned(), INVALID, "separator"),
    (|it| it.name = "a#b".to_owned(), INVALID, "#"),
    (|it| it.source_volume_id.clear(), INVALID, "source volume"),
    (|it| of(it, "/subscriptions/x/disks/y"), INVALID, NO_FOLDER),
    (|it| of(it, "127.0.0.1/encrypted##x#"), INVALID, NO_FOLDER),
    (|it| of(it, ID), INVALID, NO_FOLDER),
    (|it| of(it, "127.0.0.1/encrypted#none##"), MISSING, "none"),
    (
        |it| of(it, "127.0.0.1/encrypted#pvc-deleting##"),
        MISSING,
        "",
    ),
    (
        |it| of(it, "127.0.0.1/encrypted#pvc-cloning##"),
        MISSING,
        "",
    ),
    (|it| of(it, "127.0.0.1/encrypted#odd##"), BLOCKED, r"odd\up"),
    (|it| of(it, "127.0.0.1/encrypted#two##"), BLOCKED, "File"),
    (|it| of(it, "127.0.0.1/none#x##"), INVALID, "no such share"),
    (|it| of(it, "127.0.0.1/encrypted/a#x##"), INVALID, NO_BASE),
    (
        |it| it.parameters = map(&[("consistency", "some")]),
        INVALID,
        "listed or strict",
    ),
    (|it| it.parameters = map(&[("other", "")]), INVALID, "other"),
    (|it| it.secrets.clear(), INVALID, "snapshotter-secret-name"),
    (
        |it| drop(it.secrets.insert("password".to_owned(), "x".to_owned())),
        Code::Unauthenticated,
        "password",
    ),
    (|it| it.secrets = secrets(NOWHERE), Code::Unavailable, ""),
];

#[test]
fn each_refusal_of_a_snapshot_leaves_nothing() {
    let (samba, fixture) = with_volume();
    fs::create_dir(samba.root().join("odd")).unwrap();
    symlink("../pvc-1", samba.root().join("odd/up")).unwrap();
    fs::create_dir(samba.root().join("two")).unwrap();
    for name in ["two/file", "two/File"] {
        fs::write(samba.root().join(name), "x").unwrap();
    }
    let record = samba.root().join(".wincsi/pvc-1.volume");
    let ready = fs::read_to_string(&record).unwrap();
    assert!(ready.contains("\"ready\""), "{ready}");
    for state in ["deleting", "cloning"] {
        let text = ready.replace("pvc-1", &format!("pvc-{state}"));
        let text = text.replace("\"ready\"", &format!("\"{state}\""));
        fs::create_dir(samba.root().join(format!("pvc-{state}"))).unwrap();
        fs::write(record.with_file_name(format!("pvc-{state}.volume")), text).unwrap();
    }
    for (number, (change, code, part)) in REFUSALS.iter().enumerate() {
        let mut wanted = wanted("snap-1", VOLUME, samba.port());
        change(&mut wanted);
        let status = fixture.take(&wanted).unwrap_err();
        assert_eq!(status.code, *code, "{number} {status:?}");
        assert!(status.message.contains(part), "{number} {status:?}");
        let left = |folder| fs::read_dir(samba.root().join(folder)).map_or(0, Iterator::count);
        assert_eq!([".wincsi/clones", ".wincsi/snapshots"].map(left), [0; 2]);
        // The volumes' records, and those two folders.
        assert!(left(".wincsi") <= 5, "{number}");
    }
    let mut strict = wanted("snap-1", VOLUME, samba.port());
    strict.parameters = map(&[
        ("Consistency", "strict"),
        ("csi.storage.k8s.io/volumesnapshot/name", "x"),
    ]);
    fixture.take(&strict).unwrap();
}

/// Guards: P90
#[test]
fn a_restore_needs_a_snapshot_of_its_server() {
    let closed = format!("[closed]\npath = /\ninvalid users = {}\n", user());
    let (samba, fixture) = with_volume_on(Samba::with(&closed));
    fixture
        .take(&wanted("snap-1", VOLUME, samba.port()))
        .unwrap();
    let other = TcpListener::bind(("127.0.0.2", samba.port())).unwrap();
    other.set_nonblocking(true).unwrap();
    for (id, code) in [
        ("snapshot#127.0.0.1/encrypted#none", MISSING),
        ("snapshot#127.0.0.1/encrypted/none#snap-1", MISSING),
        ("snapshot#127.0.0.1/none#snap-1", MISSING),
        ("snapshot#127.0.0.2/encrypted#snap-1", INVALID),
        ("snapshot#127.0.0.1/closed#snap-1", Code::PermissionDenied),
    ] {
        let mut restored = request("pvc-2", samba.port());
        restore_of(&mut restored, id);
        let status = fixture.create(&restored).unwrap_err();
        assert_eq!(status.code, code, "{id} {status:?}");
    }
    assert!(other.accept().is_err(), "another server was called");
    assert!(!samba.root().join("pvc-2").exists());
    // Of ids that are not ours nothing is asked, whatever the server does.
    for id in [
        "snapshot#127.0.0.1/encrypted#../snap-1",
        "snapshot#127.0.0.1/encrypted/..#snap-1",
        "snapshot#127.0.0.1/encrypted/.wincsi#snap-1",
        "snapshot#127.0.0.1/encrypted#snap-1#",
        "snapshot#127.0.0.1/encrypted#a#b",
        "snapshot#//127.0.0.1/encrypted#snap-1",
        VOLUME,
        "x",
    ] {
        for port in [NOWHERE, samba.port()] {
            let mut restored = request("pvc-2", port);
            restore_of(&mut restored, id);
            let status = fixture.create(&restored).unwrap_err();
            assert_eq!(status.code, MISSING, "{id} {status:?}");
        }
    }
}

#[test]
fn a_delete_without_secrets_is_never_ok() {
    let (samba, fixture) = with_volume();
    let port = samba.port();
    fixture.take(&wanted("snap-1", VOLUME, port)).unwrap();
    let none = BTreeMap::new();
    assert_eq!(fixture.drop_snapshot(ID, &none), BLOCKED);
    for id in ["x", VOLUME, "snapshot#127.0.0.1/encrypted#a/b"] {
        assert_eq!(fixture.drop_snapshot(id, &none), Code::Ok, "{id}");
    }
    assert_eq!(fixture.drop_snapshot("", &none), INVALID);
    let gone = "snapshot#127.0.0.1/encrypted#gone";
    assert_eq!(fixture.drop_snapshot(gone, &secrets(port)), Code::Ok);
    let mut wrong = secrets(port);
    wrong.insert("password".to_owned(), "x".to_owned());
    for (secrets, code) in [
        (secrets(NOWHERE), Code::Unavailable),
        (wrong, Code::Unauthenticated),
    ] {
        assert_eq!(fixture.drop_snapshot(ID, &secrets), code);
    }
    assert!(samba.root().join(".wincsi/snapshots/snap-1/file").exists());
}

/// A server with three snapshots of a volume, and one of another base's.
fn with_snapshots() -> (Samba, Fixture) {
    let (samba, fixture) = with_volume();
    let port = samba.port();
    let mut second = request("pvc-2", port);
    fs::create_dir(samba.root().join("team")).unwrap();
    source(&mut second, "encrypted/team");
    set(&mut second, "subDir", "data");
    let second = fixture.create(&second).unwrap().volume_id;
    for name in ["snap-2", "snap-1", "snap-3"] {
        fixture.take(&wanted(name, VOLUME, port)).unwrap();
    }
    fixture.take(&wanted("a-team", &second, port)).unwrap();
    (samba, fixture)
}

#[test]
fn a_list_is_of_an_id_or_a_volume() {
    let (samba, fixture) = with_snapshots();
    let port = samba.port();
    let by = |id: &str, volume: &str| {
        let mut listing = listing(port);
        listing.snapshot_id = id.to_owned();
        listing.source_volume_id = volume.to_owned();
        fixture.page(&listing).unwrap().0
    };
    let all = ["snap-1", "snap-2", "snap-3"];
    assert_eq!(by(ID, ""), all[..1]);
    assert_eq!(by("", VOLUME), all);
    assert_eq!(by(ID, VOLUME), all[..1]);
    assert_eq!(
        by("snapshot#127.0.0.1/encrypted/team#a-team", ""),
        ["a-team"]
    );
    for (id, volume) in [
        ("x", ""),
        ("", "x"),
        ("", "127.0.0.1/encrypted#pvc-9##"),
        ("", "127.0.0.1/encrypted/gone#pvc-1##"),
        ("", "127.0.0.1/gone#pvc-1##"),
        (ID, "127.0.0.1/encrypted#pvc-9##"),
        ("snapshot#127.0.0.1/encrypted#gone", ""),
        ("snapshot#127.0.0.1/encrypted/gone#snap-1", ""),
        ("snapshot#127.0.0.1/gone#snap-1", ""),
    ] {
        assert_eq!(by(id, volume), [""; 0], "{id} {volume}");
    }
}

#[test]
fn a_list_of_the_secrets_bases_has_pages() {
    let (samba, fixture) = with_snapshots();
    let both = " //127.0.0.1/encrypted\r\n\n\t\\\\127.0.0.1\\encrypted\\team \n";
    let mut paged = with_sources(samba.port(), both);
    assert_eq!(
        fixture.page(&paged).unwrap().0,
        ["snap-1", "snap-2", "snap-3", "a-team"]
    );
    for most in 1..5 {
        paged.max_entries = most;
        paged.starting_token.clear();
        let mut found = Vec::new();
        loop {
            // Each page by another process.
            let (names, token) = Fixture::with(&[]).page(&paged).unwrap();
            assert!((1..=usize::try_from(most).unwrap()).contains(&names.len()));
            found.extend(names);
            if token.is_empty() {
                break;
            }
            paged.starting_token = token;
        }
        assert_eq!(found, ["snap-1", "snap-2", "snap-3", "a-team"]);
    }
}

#[test]
fn each_refusal_of_a_list_has_its_code() {
    let (samba, fixture) = with_volume();
    let port = samba.port();
    fixture.take(&wanted("snap-1", VOLUME, port)).unwrap();
    let here = "//127.0.0.1/encrypted";
    let mut by_id = ListSnapshotsRequest::default();
    by_id.snapshot_id = ID.to_owned();
    let mut negative = with_sources(port, here);
    negative.max_entries = -1;
    let mut wrong = with_sources(port, here);
    let password = ("password".to_owned(), "x".to_owned());
    wrong.secrets.extend([password]);
    let mut wrong_by_id = wrong.clone();
    wrong_by_id.snapshot_id = ID.to_owned();
    let mut cases = vec![
        (listing(port), BLOCKED, "key source"),
        (ListSnapshotsRequest::default(), BLOCKED, "key source"),
        (by_id, BLOCKED, "snapshotter-list-secret-name"),
        (with_sources(port, " \n\t\r\n"), BLOCKED, "key source"),
        (with_sources(NOWHERE, here), Code::Unavailable, ""),
        (wrong, Code::Unauthenticated, "user or password"),
        (wrong_by_id, Code::Unauthenticated, "user or password"),
        (negative, INVALID, "negative"),
    ];
    for line in [
        "nowhere",
        "//127.0.0.1/encrypted, //127.0.0.1/nowhere",
        "//127.0.0.1/nowhere #team",
        "//127.0.0.1/nowhere/.wincsi",
    ] {
        let among = format!("{here}\n{line}\n{here}");
        cases.push((with_sources(port, line), INVALID, "line 1 of the key"));
        cases.push((with_sources(port, &among), INVALID, "line 2 of the key"));
    }
    for (base, part) in [("encrypted/none", "none"), ("none", "no such share")] {
        let among = format!("{here}\n//127.0.0.1/{base}\n{here}");
        cases.push((with_sources(port, &among), INVALID, part));
    }
    for token in ["x", "1#snap-1", "0#", "0#a/b", "-1#snap-1", "0snap-1"] {
        let mut paged = with_sources(port, here);
        paged.starting_token = token.to_owned();
        cases.push((paged, Code::Aborted, "token"));
    }
    for (number, (request, code, part)) in cases.iter().enumerate() {
        let status = fixture.page(request).unwrap_err();
        assert_eq!(status.code, *code, "{number} {status:?}");
        assert!(status.message.contains(part), "{number} {status:?}");
        // That may be anything.
        assert!(!status.message.contains("nowhere"), "{number} {status:?}");
    }
}
