//! What a real Samba has after a call, and what is answered.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use transport::Code;
use wire::csi::v1::CreateVolumeRequest;
use wire::csi::v1::controller::CreateVolume;

use crate::fixture::{
    Change, Fixture, NOWHERE, UUID, capability, folder, request, secret, secrets, set, source,
    start,
};
use crate::proxy::{From, Instead, between, unchanged};
use crate::relay::Relay;
use crate::server::{Samba, user};

fn code(fixture: &Fixture, wanted: &CreateVolumeRequest) -> (Code, String) {
    match fixture.create(wanted) {
        Ok(_) => (Code::Ok, String::new()),
        Err(status) => (status.code, status.message),
    }
}

const OK: Code = Code::Ok;
const BLOCKED: Code = Code::FailedPrecondition;
const INVALID: Code = Code::InvalidArgument;
const NOBODY: Code = Code::Unauthenticated;

/// What is changed in a request, its answer, and a part of its text.
const CREATES: &[(Change, Code, &str)] = &[
    (|it| folder(it, "file"), BLOCKED, "file"),
    (|it| folder(it, "file/below"), BLOCKED, "file"),
    (|it| folder(it, "link"), BLOCKED, "link"),
    (|it| folder(it, "link/below"), BLOCKED, "link"),
    (|it| source(it, "none"), INVALID, "no such share"),
    (|it| source(it, "encrypted/none"), INVALID, "base folder"),
    (|it| source(it, "encrypted/own"), INVALID, "own"),
    (|it| secret(it, "password", "x"), NOBODY, "user or password"),
    (|it| secret(it, "username", "nobody-here"), NOBODY, "guest"),
    (|it| source(it, "plain"), OK, ""),
];

#[test]
fn each_failure_of_a_create_has_its_code() {
    let (samba, fixture) = start();
    fs::write(samba.root().join("file"), "").unwrap();
    fs::create_dir_all(samba.root().join("deep/victim")).unwrap();
    symlink("deep/victim", samba.root().join("link")).unwrap();
    let own = request("own", samba.port());
    assert_eq!(code(&fixture, &own).0, Code::Ok);
    for (number, (change, expected, part)) in CREATES.iter().enumerate() {
        let mut wanted = request(&format!("pvc-{number}"), samba.port());
        change(&mut wanted);
        let (code, text) = code(&fixture, &wanted);
        assert_eq!(code, *expected, "{number}: {text}");
        assert!(text.contains(part), "{number}: {text}");
    }
    let victim = fs::read_dir(samba.root().join("deep/victim"));
    assert_eq!(victim.unwrap().count(), 0);
}

#[test]
fn one_name_is_one_volume() {
    let (samba, fixture) = start();
    fs::create_dir(samba.root().join("team")).unwrap();
    let mut wanted = request("pvc-1", samba.port());
    folder(&mut wanted, "data");
    let first = fixture.create(&wanted).unwrap();
    assert_eq!(fixture.create(&wanted).unwrap(), first);
    let cases: [Change; 5] = [
        |it| it.capacity_range.as_mut().unwrap().required_bytes += 1,
        |it| folder(it, "DATA"),
        |it| source(it, "plain"),
        |it| set(it, "onDelete", "retain"),
        |it| source(it, "encrypted/team"),
    ];
    // Also for a controller that knows nothing but the records, of which the last base folder has none.
    let new = Fixture::with(&[]);
    let by_records = cases[..4].iter().map(|change| (&new, change));
    let all = cases.iter().map(|change| (&fixture, change));
    for (fixture, change) in all.chain(by_records) {
        let mut other = wanted.clone();
        change(&mut other);
        let (code, text) = code(fixture, &other);
        assert_eq!(code, Code::AlreadyExists, "{text}");
    }
    // A volume of that name elsewhere is another one.
    let elsewhere = "127.0.0.1/encrypted/team#data#pvc-1#";
    assert_eq!(fixture.delete(elsewhere, &secrets(samba.port())), Code::Ok);
    // A final code would let a deleted claim go, and the folder stay.
    let mut refused = wanted;
    refused.volume_capabilities.clear();
    let (unavailable, text) = code(&fixture, &refused);
    assert_eq!(unavailable, Code::Unavailable, "{text}");
    assert!(text.contains("capability is missing"), "{text}");
    let deleted = fixture.delete(&first.volume_id, &secrets(samba.port()));
    assert_eq!(deleted, Code::Ok);
    assert_eq!(code(&fixture, &refused).0, Code::InvalidArgument);
}

#[test]
fn calls_for_one_name_do_not_meet() {
    let fixture = Fixture::with(&[]);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let wanted = request("pvc-1", port);
    let (sender, first) = mpsc::channel();
    thread::scope(|scope| {
        let call = || fixture.call_within::<CreateVolume>(&wanted, Duration::from_secs(5));
        scope.spawn(move || sender.send(call().unwrap_err().code));
        // The first has begun once it is connected.
        let _connection = silent.accept().unwrap();
        assert_eq!(code(&fixture, &wanted).0, Code::Aborted);
        // On another server it is another volume's name.
        let elsewhere = code(&fixture, &request("pvc-1", NOWHERE));
        assert_eq!(elsewhere.0, Code::Unavailable);
        assert_eq!(first.recv().unwrap(), Code::DeadlineExceeded);
    });
}

/// Handles, the answer, the label of a folder that stays, and whether it is there.
const DELETES: &[(&str, Code, &str, bool)] = &[
    ("encrypted#made#pvc-made#", OK, "", false),
    ("encrypted#filed#pvc-filed#archive", OK, "", false),
    ("encrypted#filed#pvc-filed#archive", OK, "", false),
    ("encrypted#kept#pvc-kept#retain", OK, "retained", true),
    ("encrypted#odd#pvc-odd#keep", OK, "unknown-policy", true),
    ("encrypted#found#pvc-found#", OK, "found", true),
    ("encrypted#foreign#pvc-x#", OK, "unrecorded", true),
    ("encrypted#foreign##", OK, "unrecorded", true),
    ("encrypted#foreign", OK, "unrecorded", true),
    ("encrypted#UUID#pvc-x#", OK, "unrecorded", true),
    ("encrypted#deep/UUID##", OK, "unrecorded", true),
    ("encrypted#UUID##", OK, "", false),
    ("encrypted#a-UUID#", OK, "", false),
    ("encrypted#b-UUID", OK, "", false),
    ("encrypted#gone#pvc-gone#", OK, "", false),
    ("encrypted#linked#pvc-linked#", BLOCKED, "", true),
    ("none#x#pvc-x#", INVALID, "", false),
    ("encrypted/none#x#pvc-x#", INVALID, "", false),
];

#[test]
fn each_delete_does_what_its_row_says() {
    let (samba, fixture) = start();
    let named = |text: &str| text.replace("UUID", &format!("pvc-{UUID}"));
    let root = samba.root();
    let before = "found foreign UUID a-UUID b-UUID deep/UUID deep/victim";
    for name in before.split(' ') {
        fs::create_dir_all(root.join(named(name))).unwrap();
    }
    for name in ["made", "filed", "kept", "odd", "found", "linked"] {
        let mut wanted = request(&format!("pvc-{name}"), samba.port());
        folder(&mut wanted, name);
        assert_eq!(code(&fixture, &wanted).0, Code::Ok, "{name}");
    }
    fs::remove_dir(root.join("linked")).unwrap();
    symlink("deep/victim", root.join("linked")).unwrap();
    let secrets = secrets(samba.port());
    let mut left = BTreeMap::<&str, u64>::new();
    for (id, code, label, stays) in DELETES {
        let id = format!("127.0.0.1/{}", named(id));
        assert_eq!(fixture.delete(&id, &secrets), *code, "{id}");
        let folder = id.split('#').nth(1).unwrap();
        assert_eq!(root.join(folder).exists(), *stays, "{id}");
        if !label.is_empty() {
            *left.entry(label).or_default() += 1;
        }
    }
    assert!(root.join("archived-filed").exists());
    let metrics = fixture.metrics();
    for (label, count) in left {
        let line = format!("wincsi_controller_folders_left_total{{reason=\"{label}\"}} {count}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    let mut wrong = secrets.clone();
    wrong.insert(String::from("password"), String::from("x"));
    assert_eq!(fixture.delete("127.0.0.1/encrypted#x##", &wrong), NOBODY);
    let unrecorded = Fixture::with(&["-delete-unrecorded"]);
    let id = "127.0.0.1/encrypted#foreign#pvc-x#";
    assert_eq!(unrecorded.delete(id, &secrets), Code::Ok);
    assert!(!root.join("foreign").exists());
}

#[test]
fn a_volume_is_looked_at_with_its_secret() {
    let (samba, fixture) = start();
    let volume = fixture.create(&request("pvc-1", samba.port())).unwrap();
    let validate = |id: &str, secrets| fixture.validate(id, secrets, capability(""));
    assert_eq!(validate(&volume.volume_id, secrets(samba.port())), Ok(true));
    let other = volume.volume_id.replace("pvc-1", "pvc-2");
    assert_eq!(validate(&other, secrets(samba.port())), Err(Code::NotFound));
    assert_eq!(validate(&other, BTreeMap::new()), Ok(true));
}

#[test]
fn a_connection_serves_one_login_until_it_ends() {
    let samba = Samba::start();
    let (relay, port) = Relay::to(samba.port());
    let fixture = Fixture::with(&["-require-privacy=false"]);
    let mut wanted = request("pvc-1", port);
    for _ in 0..2 {
        let volume = fixture.create(&wanted).unwrap();
        assert_eq!(fixture.delete(&volume.volume_id, &secrets(port)), Code::Ok);
        assert_eq!(relay.connections(), 1);
    }
    relay.cut();
    fixture.create(&wanted).unwrap();
    assert_eq!(relay.connections(), 2);
    // It answers, and has no share any more.
    samba.close_share("encrypted");
    fixture.create(&wanted).unwrap();
    assert_eq!(relay.connections(), 3);
    // Each of them is another login.
    secret(&mut wanted, "mountOptions", &format!("port={port},seal"));
    fixture.create(&wanted).unwrap();
    assert_eq!(relay.connections(), 4);
    let others: [(Change, Code); 3] = [
        (|it| secret(it, "username", &format!(r"D\{}", user())), OK),
        (|it| source(it, "plain"), OK),
        (|it| secret(it, "password", "x"), NOBODY),
    ];
    for (number, (change, expected)) in (5..).zip(others) {
        change(&mut wanted);
        // What is left of the name makes no code final.
        wanted.name.push('0');
        assert_eq!(code(&fixture, &wanted).0, expected);
        assert_eq!(relay.connections(), number);
    }
}

/// There are more than a call has the time to ask.
#[test]
fn of_silent_connections_one_is_asked() {
    const IDLE: usize = 8;
    let samba = Samba::start();
    let (relay, port) = Relay::to(samba.port());
    let fixture = Fixture::with(&[]);
    // Each call has a connection of its own, as none of them gets further.
    relay.silence(IDLE);
    thread::scope(|scope| {
        for number in 0..IDLE {
            let base = format!("base-{number}");
            fs::create_dir(samba.root().join(&base)).unwrap();
            let mut wanted = request(&format!("pvc-{number}"), port);
            source(&mut wanted, &format!("encrypted/{base}"));
            let fixture = &fixture;
            scope.spawn(move || fixture.create(&wanted).unwrap());
        }
        while relay.connections() < IDLE {
            thread::yield_now();
        }
        relay.silence(0);
    });
    relay.silence(IDLE);
    let left = Duration::from_secs(12);
    let created = fixture.call_within::<CreateVolume>(&request("pvc-last", port), left);
    created.unwrap();
    assert_eq!(relay.connections(), IDLE + 1);
}

#[test]
fn no_message_after_the_logon_is_plain() {
    let samba = Samba::start();
    let attack = |from, n, message: &[u8]| match (from, n) {
        (From::Client, 3..) if !message.starts_with(b"\xfdSMB") => Instead::End,
        _ => unchanged(message),
    };
    let (port, requests) = between(samba.port(), Box::new(attack));
    let fixture = Fixture::with(&[]);
    for policy in ["delete", "archive"] {
        let mut wanted = request(&format!("pvc-{policy}"), port);
        set(&mut wanted, "onDelete", policy);
        let id = fixture.create(&wanted).unwrap().volume_id;
        fixture.try_delete(&id, &wanted.secrets).unwrap();
    }
    assert!(*requests.lock().unwrap() > 30);
}

/// The man who reads along is in the test above: here only that the option reaches the client.
#[test]
fn privacy_is_demanded_by_the_flag_or_by_seal() {
    let samba = Samba::with("server smb encrypt = off");
    let port = samba.port();
    let made = |flags: &[&str], of_class: &str, of_secret: &str| {
        let mut wanted = request("pvc-1", port);
        source(&mut wanted, "plain");
        wanted.volume_capabilities.push(capability(of_class));
        let options = format!("port={port}{of_secret}");
        secret(&mut wanted, "mountOptions", &options);
        let fixture = Fixture::with(flags);
        let made = code(&fixture, &wanted);
        let deleted = fixture.delete("127.0.0.1/plain#pvc-1##", &wanted.secrets);
        (made, deleted)
    };
    let off = &["-require-privacy=false"][..];
    for (flags, of_class, of_secret, expected, word) in [
        (&[][..], "", "", Code::Unavailable, "encryption"),
        (&[], "seal", "", Code::Unavailable, "encryption"),
        (off, "", ",seal", Code::Unavailable, "encryption"),
        (off, "seal", ",seal", Code::Unavailable, "encryption"),
        // Its delete would not be encrypted.
        (off, "seal", "", Code::InvalidArgument, "mountOptions"),
        (off, "", "", Code::Ok, ""),
    ] {
        let ((code, text), deleted) = made(flags, of_class, of_secret);
        assert_eq!(code, expected, "{text}");
        assert!(text.contains(word), "{text}");
        let is_private = flags.is_empty() || !of_secret.is_empty();
        assert_eq!(deleted == Code::Unavailable, is_private, "{of_secret}");
    }
}

/// Samba shows names with a dot as hidden, if nothing forbids it.
#[test]
fn the_folder_of_records_is_hidden() {
    let samba = Samba::with("hide dot files = no\nstore dos attributes = yes");
    let made = Fixture::with(&[]).create(&request("pvc-1", samba.port()));
    made.unwrap();
    let text = samba.client("allinfo .wincsi; allinfo pvc-1");
    let attributes = text.lines().filter(|line| line.starts_with("attributes"));
    let expected = ["attributes: HD (12)", "attributes: D (10)"];
    assert_eq!(Vec::from_iter(attributes), expected);
}
