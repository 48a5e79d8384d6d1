//! Clones by their requests: from which handles, and what is refused.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use transport::Code;

use crate::fixture::{Change, Fixture, clone_of, folder, request, secrets, set, source};
use crate::server::Samba;

const BLOCKED: Code = Code::FailedPrecondition;
const INVALID: Code = Code::InvalidArgument;
const MISSING: Code = Code::NotFound;

/// Handles of sources, ours and those of csi-driver-smb, without records, and what is in a file there.
const HANDLES: [(&str, &str); 6] = [
    ("127.0.0.1/encrypted#made##", "made"),
    ("127.0.0.1/encrypted#old", "old"),
    ("127.0.0.1/encrypted#old#pvc-old", "old"),
    ("127.0.0.1/encrypted#deep/old##", "deep/old"),
    ("127.0.0.1/encrypted/deep#old#pvc-old#retain", "deep/old"),
    ("127.0.0.1/second#old##", "second"),
];

#[test]
fn each_form_of_a_handle_is_a_source() {
    let samba = Samba::start();
    let fixture = Fixture::with(&[]);
    let root = samba.root();
    fixture.create(&request("made", samba.port())).unwrap();
    for path in ["made", "old", "deep/old"] {
        fs::create_dir_all(root.join(path)).unwrap();
        fs::write(root.join(path).join("file"), path).unwrap();
    }
    let second = samba.second().join("old");
    fs::create_dir(&second).unwrap();
    fs::write(second.join("file"), "second").unwrap();
    for (number, (id, expected)) in HANDLES.into_iter().enumerate() {
        let mut wanted = request(&format!("pvc-{number}"), samba.port());
        clone_of(&mut wanted, id);
        let volume = fixture.create(&wanted).unwrap();
        assert_eq!(volume.content_source, wanted.volume_content_source);
        assert_eq!(volume, fixture.create(&wanted).unwrap());
        let file = root.join(format!("pvc-{number}/file"));
        let content = fs::read_to_string(&file).unwrap();
        assert_eq!(content, expected, "{id}");
        let mut other = wanted.clone();
        clone_of(&mut other, "127.0.0.1/encrypted#other##");
        let status = fixture.create(&other).unwrap_err();
        assert_eq!(status.code, Code::AlreadyExists, "{status:?}");
        other.volume_content_source = None;
        let status = fixture.create(&other).unwrap_err();
        assert_eq!(status.code, Code::AlreadyExists, "{status:?}");
        fixture
            .try_delete(&volume.volume_id, &secrets(samba.port()))
            .unwrap();
        assert!(!file.exists());
    }
    assert_eq!(
        fs::read_dir(root.join(".wincsi/clones")).unwrap().count(),
        0
    );
    // Without a volume nothing stays in a base folder that had no records.
    assert!(!root.join("deep/.wincsi").exists());
}

/// The source's handle, what is changed in the request, the answer, and parts of its text.
const REFUSALS: &[(&str, Change, Code, &[&str])] = &[
    (
        "127.0.0.1/encrypted##x#",
        same,
        INVALID,
        &["folder of its own"],
    ),
    ("127.0.0.1/encrypted", same, MISSING, &["form"]),
    ("127.0.0.1/encrypted#a#b#c#d", same, MISSING, &["source"]),
    (
        "127.0.0.1/encrypted#.wincsi/deleted##",
        same,
        MISSING,
        &[".wincsi"],
    ),
    ("127.0.0.1/encrypted#none##", same, MISSING, &[r"\none"]),
    ("127.0.0.1/encrypted#file##", same, MISSING, &[r"\file"]),
    ("127.0.0.1/encrypted/none#x##", same, MISSING, &["none"]),
    ("127.0.0.1/none#x##", same, MISSING, &["none"]),
    (
        "127.0.0.1/encrypted#gone#pvc-gone#",
        same,
        MISSING,
        &["deleted"],
    ),
    (
        "127.0.0.1/encrypted#half#pvc-half#",
        same,
        MISSING,
        &["not ready"],
    ),
    (
        "127.0.0.1/encrypted#link##",
        same,
        BLOCKED,
        &[r"\link", "link"],
    ),
    (
        "127.0.0.1/encrypted#link/below##",
        same,
        BLOCKED,
        &[r"\link", "link"],
    ),
    (
        "127.0.0.1/encrypted#linked##",
        same,
        BLOCKED,
        &[r"linked\sub\up", "link"],
    ),
    (
        "127.0.0.1/encrypted#case##",
        same,
        BLOCKED,
        &["File", "fiLe"],
    ),
    (
        "127.0.0.1/encrypted#old##",
        taken,
        Code::AlreadyExists,
        &[r"\old", "overwrites"],
    ),
    ("127.0.0.1/encrypted#old##", filed, BLOCKED, &[r"\file"]),
    (
        "127.0.0.1/encrypted#base##",
        inside,
        INVALID,
        &["lies in the source"],
    ),
    // Another share of the same folder.
    (
        "127.0.0.1/plain#base##",
        inside,
        INVALID,
        &["lies in the source"],
    ),
    (
        "127.0.0.1/encrypted#pvc-1##",
        same,
        INVALID,
        &["its own source"],
    ),
];

fn same(_: &mut wire::csi::v1::CreateVolumeRequest) {}

fn taken(wanted: &mut wire::csi::v1::CreateVolumeRequest) {
    folder(wanted, "old");
}

fn filed(wanted: &mut wire::csi::v1::CreateVolumeRequest) {
    folder(wanted, "file");
}

fn inside(wanted: &mut wire::csi::v1::CreateVolumeRequest) {
    source(wanted, "encrypted/base");
}

#[test]
fn each_refusal_leaves_nothing() {
    let samba = Samba::with("case sensitive = no");
    let fixture = Fixture::with(&[]);
    let root = samba.root();
    for path in ["old", "base", "case", "linked/sub", "deep/victim/below"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for path in [
        "file",
        "case/File",
        "case/fiLe",
        "linked/a",
        "old/a",
        "deep/victim/a",
    ] {
        fs::write(root.join(path), "x").unwrap();
    }
    symlink("deep/victim", root.join("link")).unwrap();
    symlink("../../deep", root.join("linked/sub/up")).unwrap();
    for (name, state) in [("gone", "deleting"), ("half", "cloning")] {
        let mut wanted = request(&format!("pvc-{name}"), samba.port());
        folder(&mut wanted, name);
        fixture.create(&wanted).unwrap();
        let record = root.join(format!(".wincsi/pvc-{name}.volume"));
        let text = fs::read_to_string(&record).unwrap();
        fs::write(record, text.replace("\"ready\"", &format!("\"{state}\""))).unwrap();
    }
    let before = tree(&root);
    for (id, change, code, parts) in REFUSALS {
        let mut wanted = request("pvc-1", samba.port());
        clone_of(&mut wanted, id);
        change(&mut wanted);
        for _ in 0..2 {
            let status = fixture.create(&wanted).unwrap_err();
            assert_eq!(status.code, *code, "{id}: {status:?}");
            let has = |part: &&str| status.message.contains(*part);
            assert!(parts.iter().all(has), "{id}: {status:?}");
            assert_eq!(tree(&root), before, "{id}");
        }
    }
    let page = fixture.metrics();
    for row in ["exists\"} 2", "link\"} 6", "names\"} 2", "space\"} 0"] {
        assert!(
            page.contains(&format!("{{reason=\"{row}\n")),
            "{row} {page}"
        );
    }
}

/// Guards: P90
#[test]
fn no_packet_goes_to_another_server() {
    let samba = Samba::start();
    let fixture = Fixture::with(&[]);
    let other = TcpListener::bind(("127.0.0.2", samba.port())).unwrap();
    other.set_nonblocking(true).unwrap();
    fs::create_dir(samba.root().join("old")).unwrap();
    for host in ["127.0.0.2", "localhost", "127.0.0.1.", "[::1]"] {
        let mut wanted = request("pvc-1", samba.port());
        clone_of(&mut wanted, &format!("{host}/encrypted#old##"));
        set(&mut wanted, "subDir", "x");
        let status = fixture.create(&wanted).unwrap_err();
        assert_eq!(status.code, Code::InvalidArgument, "{status:?}");
        assert!(status.message.contains("password"), "{status:?}");
    }
    let came = other.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(came, Err(ErrorKind::WouldBlock));
    assert_eq!(tree(&samba.root()), ["old"]);
}

/// Each path in a folder, but the empty folders of copies and deleted volumes.
fn tree(folder: &std::path::Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            }
            paths.push(path.strip_prefix(folder).unwrap().display().to_string());
        }
    }
    paths.retain(|path| ![".wincsi/clones", ".wincsi/deleted"].contains(&path.as_str()));
    paths.sort();
    paths
}
