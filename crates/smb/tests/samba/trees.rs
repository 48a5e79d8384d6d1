use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use wincsi_smb::{Failure, Limits, Privacy, RemoteShare, Removed, Result, Share, remove_content};

use crate::operations::{at, failure, names};
use crate::server::{Samba, soon};

const LIMITS: Limits = Limits {
    depth: 20,
    entries: 10_000,
};

#[test]
fn a_tree_goes_with_all_that_is_in_it() {
    let samba = Samba::start();
    let volume = samba.root().join("v");
    fs::create_dir_all(volume.join("1/2/3/4/5")).unwrap();
    for n in 0..1_500 {
        fs::write(volume.join(format!("1/f{n}")), b"x").unwrap();
    }
    fs::write(volume.join("read-only"), b"x").unwrap();
    fs::set_permissions(volume.join("read-only"), PermissionsExt::from_mode(0o444)).unwrap();
    fs::create_dir(samba.root().join("other")).unwrap();
    let mut share = samba.open("encrypted", Privacy::Required);
    let removed = remove(&mut share, "v", LIMITS).unwrap();
    assert_eq!((removed.entries, removed.unproved), (1_506, 0));
    assert_eq!(names(&mut share, ""), ["other"]);
}

#[test]
fn no_link_is_followed() {
    for (target, expected) in [
        ("../../victim", Failure::Link),
        ("..", Failure::Link),
        ("../../victim/sub", Failure::Link),
        ("../../nothing", Failure::HiddenContent),
    ] {
        let samba = scene();
        fs::create_dir(samba.root().join("v/d")).unwrap();
        symlink(target, samba.root().join("v/d/a")).unwrap();
        let mut share = samba.open("encrypted", Privacy::Required);
        let refused = failure(remove(&mut share, "v", LIMITS));
        assert_eq!(refused, expected, "{target}");
        assert!(is_whole(&samba.root()), "{target}");
        assert!(samba.root().join("v/d/a").is_symlink(), "{target}");
    }
}

#[test]
fn a_link_to_a_file_goes_alone() {
    let samba = scene();
    symlink("../victim/precious", samba.root().join("v/a")).unwrap();
    let mut share = samba.open("encrypted", Privacy::Required);
    remove(&mut share, "v", LIMITS).unwrap();
    assert!(is_whole(&samba.root()));
    assert!(!samba.root().join("v").exists());
}

#[test]
fn a_volume_that_is_a_link_stays() {
    let samba = scene();
    fs::create_dir(samba.root().join("base")).unwrap();
    symlink("../victim", samba.root().join("base/v")).unwrap();
    let mut share = samba.open("encrypted", Privacy::Required);
    assert_eq!(failure(remove(&mut share, "base/v", LIMITS)), Failure::Link);
    assert!(is_whole(&samba.root()));
}

#[test]
fn another_folder_in_the_place_stays() {
    let samba = scene();
    let mut share = samba.open("encrypted", Privacy::Required);
    let id = share.stat(&at("v"), soon()).unwrap();
    fs::rename(samba.root().join("v"), samba.root().join("old")).unwrap();
    fs::rename(samba.root().join("victim"), samba.root().join("v")).unwrap();
    let done = remove_content(&mut share, &at("v"), id, LIMITS, soon());
    assert!(matches!(failure(done), Failure::Changed { expected, .. } if expected == id));
    assert!(samba.root().join("v/precious").exists());
}

#[test]
fn a_walk_ends_at_its_limits() {
    let samba = scene();
    fs::create_dir_all(samba.root().join("v/1/2/3")).unwrap();
    let mut share = samba.open("plain", Privacy::Offered);
    let limits = |depth, entries| Limits { depth, entries };
    for limits in [limits(2, 10_000), limits(20, 2)] {
        assert_eq!(failure(remove(&mut share, "v", limits)), Failure::Limit(2));
    }
    assert!(remove_content(&mut share, &at(""), wincsi_smb::FileId(1), LIMITS, soon()).is_err());
    remove(&mut share, "v", limits(3, 10_000)).unwrap();
}

/// A folder `v` to remove, beside a folder that must stay.
fn scene() -> Samba {
    let samba = Samba::start();
    fs::create_dir(samba.root().join("v")).unwrap();
    fs::create_dir_all(samba.root().join("victim/sub")).unwrap();
    fs::write(samba.root().join("victim/precious"), b"data").unwrap();
    fs::write(samba.root().join("victim/sub/more"), b"data").unwrap();
    samba
}

fn is_whole(root: &Path) -> bool {
    root.join("victim/precious").exists() && root.join("victim/sub/more").exists()
}

/// Empties a folder, and removes it.
fn remove(share: &mut RemoteShare, path: &str, limits: Limits) -> Result<Removed> {
    let id = share.stat(&at(path), soon()).unwrap();
    let removed = remove_content(share, &at(path), id, limits, soon())?;
    share.remove(&at(path), id, soon())?;
    Ok(removed)
}
