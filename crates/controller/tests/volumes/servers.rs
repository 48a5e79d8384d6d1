//! Snapshots on servers that copy nothing, demand encryption, have a small disk, or streams and access lists.

use std::fs;

use rustix::fs::{XattrFlags, setxattr};
use transport::Code;
use wincsi_controller::volumes::{Create, Delete, Deleted, Left};

use crate::clones::{fill, is_same, put_one, set};
use crate::fixture::{ByHand, Controller, archive, at, create, delete, gone, keep, volume};
use crate::server::Samba;
use crate::snapshots::{
    MANIFEST, PLACE, drop_snapshot, is_clean, listed, restore, restored, take, take_of,
};

/// A server's configuration, whether it copies, how the source goes, and the answer.
type Life = (&'static str, bool, fn(&Create) -> Delete, Deleted);

const LIVES: [Life; 3] = [
    ("", true, gone, Deleted::Gone),
    (
        "server smb encrypt = required",
        true,
        |it| keep(it, Left::Retained),
        Deleted::Left(Left::Retained),
    ),
    ("", false, archive, Deleted::Archived(None)),
];

#[test]
fn a_snapshot_outlives_its_volume_and_is_restored() {
    for (lines, has_copies, goes, done) in LIVES {
        let samba = Samba::with(lines);
        let mut controller = Controller::new(samba.port());
        if !has_copies {
            controller = controller.with(ByHand(samba.port()));
        }
        set(&samba, fill);
        outlives(&samba, &controller, (&goes(&volume("pvc-0", "data")), done));
    }
}

fn outlives(samba: &Samba, controller: &Controller, (deletion, done): (&Delete, Deleted)) {
    let wanted = take_of("data");
    let taken = take(controller, &wanted).unwrap();
    assert_eq!(taken.size, 1 << 30);
    assert_eq!(taken.source_id, wanted.source_id);
    let [source, place, new] = ["data", PLACE, "new"].map(|path| at(samba, path));
    assert!(is_same(&source, &place));
    // Once a snapshot is whole, its source may change.
    fs::write(source.join("small"), b"other").unwrap();
    fs::write(source.join("later"), b"later").unwrap();
    let again = take(&Controller::new(samba.port()), &wanted);
    assert_eq!(again.unwrap(), taken);
    // Its lock's name would be too long.
    let long = format!(".wincsi/{}.snapshot", "x".repeat(246));
    fs::write(at(samba, &long), "{}").unwrap();
    assert_eq!(listed(controller), [taken]);
    fs::remove_file(at(samba, &long)).unwrap();
    let deleted = match delete(controller, deletion).unwrap() {
        Deleted::Archived(Some(to)) if to.to_string() == r"\archived-data" => {
            Deleted::Archived(None)
        }
        deleted => deleted,
    };
    assert_eq!(deleted, done);
    assert_eq!(source.exists(), matches!(done, Deleted::Left(_)));
    restore(controller, &wanted.snapshot).unwrap();
    assert!(is_same(&place, &new) && !new.join("later").exists());
    let text = fs::read_to_string(at(samba, MANIFEST)).unwrap();
    assert!(
        text.starts_with("{\"version\":1,\"snapshot\":\"snap-1\""),
        "{text}"
    );
    assert!(text.contains("\"path\":\"a/b/c/d/deep\",\"is_folder\":false,\"size\":4,"));
    for _ in 0..2 {
        drop_snapshot(controller, &wanted.snapshot).unwrap();
        is_clean(samba);
    }
    assert!(new.join("a/b/c/d/deep").exists() && listed(controller).is_empty());
    let record = fs::read_to_string(at(samba, ".wincsi/pvc-1.volume")).unwrap();
    assert!(record.contains("snapshot#127.0.0.1/plain#snap-1") && record.contains("\"made\""));
    let restored = restored(&wanted.snapshot, volume("pvc-1", "new"));
    assert_eq!(delete(controller, &gone(&restored)).unwrap(), Deleted::Gone);
    assert!(!new.exists());
}

/// A copy that does not fit goes, and is not begun again before there is room. A snapshot goes also where there is none.
#[test]
fn a_small_disk_is_filled_once() {
    let samba = Samba::on_disk(8 << 20);
    let controller = Controller::new(samba.port());
    create(&controller, &volume("pvc-0", "data")).unwrap();
    let long = samba.second().join("long");
    fs::write(&long, vec![1; 3 << 20]).unwrap();
    let put = |to: &str| samba.client(&format!("put {} {to}", long.display()));
    let has = |text: &str| samba.client("recurse; ls").contains(text);
    put("data/file");
    put("other");
    let wanted = take_of("data");
    for words in ["no space is left", "no more than the"] {
        let error = take(&controller, &wanted).unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(has("pvc-0.volume") && !has("snap-1"));
    }
    samba.client("del other");
    take(&controller, &wanted).unwrap();
    let error = restore(&controller, &wanted.snapshot).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    assert!(has("snap-1") && !has("pvc-1"));
    put("rest");
    assert!(has(" 0 blocks available"));
    drop_snapshot(&controller, &wanted.snapshot).unwrap();
    assert!(has("pvc-0.volume") && !has("snap-1") && !has(" 0 blocks available"));
}

/// What a stream `s` is to Samba's module, and an access list with an entry for user 12345.
const MORE: [(&str, &[u8]); 2] = [
    ("user.DosStream.s:$DATA", b"abc\0"),
    (
        "system.posix_acl_access",
        b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x02\0\x05\0\x39\x30\0\0\x04\0\x05\0\xff\xff\xff\xff\
          \x10\0\x05\0\xff\xff\xff\xff\x20\0\x05\0\xff\xff\xff\xff",
    ),
];

/// The source has both as before.
#[test]
fn streams_and_access_lists_are_not_copied() {
    let samba = Samba::with("vfs objects = streams_xattr");
    let controller = Controller::new(samba.port());
    set(&samba, put_one);
    let paths = ["", "/sub", "/sub/file"];
    for place in paths.map(|path| at(&samba, &format!("data{path}"))) {
        for (name, value) in MORE {
            setxattr(&place, name, value, XattrFlags::empty()).unwrap();
        }
    }
    let shown = |folder: &str| {
        paths.map(|path| {
            let path = format!("{folder}{path}");
            let command = format!("showacls; ls {path}; allinfo {path}; get {path}:s -");
            let text = samba.client(&command);
            ["abc", "[:s:$DATA], 3 bytes", "S-1-22-1-12345"].map(|part| text.contains(part))
        })
    };
    assert_eq!(shown("data"), [[true; 3]; 3]);
    let wanted = take_of("data");
    take(&controller, &wanted).unwrap();
    restore(&controller, &wanted.snapshot).unwrap();
    assert_eq!(shown("data"), [[true; 3]; 3]);
    for copy in [PLACE, "new"] {
        assert!(is_same(&at(&samba, "data"), &at(&samba, copy)));
        assert_eq!(shown(copy), [[false; 3]; 3], "{copy}");
    }
    let volume = volume("pvc-0", "data");
    assert_eq!(delete(&controller, &gone(&volume)).unwrap(), Deleted::Gone);
    drop_snapshot(&controller, &wanted.snapshot).unwrap();
    is_clean(&samba);
}
