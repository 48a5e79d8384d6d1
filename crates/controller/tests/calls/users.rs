//! Two users of one share, of whom the second may not do all that the first may.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use transport::Code;
use wire::csi::v1::CreateVolumeRequest;

use crate::fixture::{Fixture, clone_of, folder, request, secret, source};
use crate::server::{Samba, user};

/// Each Debian has this user. Samba as root becomes it. Else it stays who it is, all files are the first user's, and Samba
/// itself compares the second with their modes.
const SECOND: &str = "daemon";

/// Folders that are closed to the second user, what its delete then may not touch, and where they are afterwards. By a mode a
/// folder can be moved if it is open, or if the one above it is: Linux asks the one, Samba either.
const CLOSED: [(&[&str], &str, &[&str]); 2] = [
    (&["", "pvc-1"], r"\pvc-1", &["", "pvc-1"]),
    (&["pvc-1/sub"], r"\sub\kept", &[".wincsi/deleted/pvc-1/sub"]),
];

#[test]
fn an_entry_that_its_user_may_not_delete_is_named() {
    for (closed, name, then) in CLOSED {
        let (samba, fixture) = scene();
        let root = samba.root();
        let wanted = seconds("pvc-1", "", &samba);
        let id = fixture.create(&wanted).unwrap().volume_id;
        fs::create_dir(root.join("pvc-1/sub")).unwrap();
        fs::write(root.join("pvc-1/sub/kept"), "x").unwrap();
        open(&root.join("pvc-1/sub"));
        closed.iter().for_each(|path| close(&root.join(path)));
        for _ in 0..2 {
            let status = fixture.try_delete(&id, &wanted.secrets).unwrap_err();
            assert_eq!(status.code, Code::PermissionDenied, "{status:?}");
            assert!(status.message.contains(name), "{status:?}");
        }
        then.iter().for_each(|path| open(&root.join(path)));
        fixture.try_delete(&id, &wanted.secrets).unwrap();
        assert_eq!(entries(&root), [".wincsi"]);
        assert_eq!(entries(&root.join(".wincsi")), ["deleted"]);
        assert!(entries(&root.join(".wincsi/deleted")).is_empty());
    }
}

#[test]
fn an_entry_that_its_user_may_not_read_is_named() {
    let (samba, fixture) = scene();
    let root = samba.root();
    fs::create_dir_all(root.join("old/sub")).unwrap();
    for name in ["old/first", "old/sub/kept"] {
        fs::write(root.join(name), "x").unwrap();
    }
    let kept = root.join("old/sub/kept");
    fs::set_permissions(&kept, PermissionsExt::from_mode(0o600)).unwrap();
    let mut wanted = seconds("pvc-1", "", &samba);
    clone_of(&mut wanted, "127.0.0.1/encrypted#old##");
    for _ in 0..2 {
        let status = fixture.create(&wanted).unwrap_err();
        assert_eq!(status.code, Code::PermissionDenied, "{status:?}");
        assert!(status.message.contains(r"\old\sub\kept"), "{status:?}");
        assert_eq!(entries(&root.join(".wincsi")), ["clones"]);
        assert!(entries(&root.join(".wincsi/clones")).is_empty());
    }
    open(&kept);
    fixture.create(&wanted).unwrap();
    assert!(root.join("pvc-1/sub/kept").exists());
}

#[test]
fn what_a_user_may_not_write_stops_its_create() {
    for (closed, has_records, name) in [
        ("", false, r"\.wincsi"),
        (".wincsi", true, r"\.wincsi"),
        ("", true, r"\pvc-1"),
    ] {
        let (samba, fixture) = scene();
        let root = samba.root();
        if has_records {
            fixture.create(&request("pvc-0", samba.port())).unwrap();
        }
        let before = [entries(&root), entries(&root.join(".wincsi"))];
        close(&root.join(closed));
        let wanted = seconds("pvc-1", "", &samba);
        let status = fixture.create(&wanted).unwrap_err();
        assert_eq!(status.code, Code::PermissionDenied, "{status:?}");
        assert!(status.message.contains(name), "{status:?}");
        let after = [entries(&root), entries(&root.join(".wincsi"))];
        assert_eq!(after, before);
        open(&root.join(closed));
        fixture.create(&wanted).unwrap();
    }
}

/// The second user cannot lock the base folder that its own lies in, but reads what is recorded there.
#[test]
fn records_of_another_users_base_count() {
    let (samba, fixture) = scene();
    let root = samba.root();
    fs::create_dir(root.join("team")).unwrap();
    open(&root.join("team"));
    let [shared, own] = ["shared", "own"].map(|folder| seconds(folder, "/team", &samba));
    let shared_id = fixture.create(&shared).unwrap().volume_id;
    let mut outer = request("pvc-0", samba.port());
    folder(&mut outer, "team/shared");
    fixture.create(&outer).unwrap();
    let (records, record) = (root.join(".wincsi"), root.join(".wincsi/pvc-0.volume"));
    close(&records);
    fixture.create(&own).unwrap();
    fs::set_permissions(&record, PermissionsExt::from_mode(0o600)).unwrap();
    // The first process knows the record, and it has not changed.
    let new = Fixture::with(&[]);
    let id = new.create(&own).unwrap().volume_id;
    let status = new.try_delete(&id, &own.secrets).unwrap_err();
    assert_eq!(status.code, Code::FailedPrecondition, "{status:?}");
    assert!(status.message.contains("pvc-0.volume"), "{status:?}");
    assert!(root.join("team/own").exists());
    open(&record);
    new.try_delete(&id, &own.secrets).unwrap();
    assert!(!root.join("team/own").exists());
    fixture.try_delete(&shared_id, &shared.secrets).unwrap();
    assert!(root.join("team/shared").exists());
    let line = "wincsi_controller_folders_left_total{reason=\"shared\"} 1\n";
    assert!(fixture.metrics().contains(line), "{}", fixture.metrics());
    assert_eq!(entries(&records), ["pvc-0.volume"]);
}

/// A share of two users, in which all that they make is open to both.
fn scene() -> (Samba, Fixture) {
    let samba = Samba::with("force create mode = 0777\nforce directory mode = 0777");
    samba.add_user(SECOND);
    let root = samba.root();
    close(root.parent().unwrap());
    open(&root);
    if user() == "root" {
        let closed = root.ancestors().find(|above| mode(above) & 0o001 == 0);
        assert_eq!(
            closed, None,
            "{SECOND} cannot reach the share: chmod o+x, or set TMPDIR"
        );
    }
    (samba, Fixture::with(&[]))
}

/// The second user's request for a volume in a base folder.
fn seconds(name: &str, base: &str, samba: &Samba) -> CreateVolumeRequest {
    let mut wanted = request(name, samba.port());
    secret(&mut wanted, "username", SECOND);
    source(&mut wanted, &format!("encrypted{base}"));
    wanted
}

fn open(path: &Path) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
}

/// To all but its owner, who may be the second user.
fn close(path: &Path) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode()
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    BTreeSet::from_iter(names).into_iter().collect()
}
