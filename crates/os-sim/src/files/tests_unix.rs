use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use os::{Files, ReparseTag, Win32};

use super::tests::{FilesFixture, code, fixture, path};

#[test]
fn a_hosts_own_links_and_sockets_are_opaque_reparse_points() {
    let FilesFixture { tree, host, .. } = fixture();
    let c = host.folder_of("c");
    symlink("/etc", c.join("escape")).unwrap();
    let _socket = UnixListener::bind(c.join("csi.sock")).unwrap();
    assert_eq!(
        code(tree.entry(&path(r"C:\escape\passwd"))),
        Some(Win32::CANT_ACCESS_FILE)
    );
    let socket = tree.entry(&path(r"C:\CSI.sock")).unwrap();
    assert_eq!(socket.tag, Some(ReparseTag::AF_UNIX));
    assert!(!socket.is_directory());
    tree.remove_file(&path(r"C:\escape")).unwrap();
    tree.remove_file(&path(r"C:\csi.sock")).unwrap();
    assert!(PathBuf::from("/etc").exists());
}

#[test]
fn names_of_one_case_are_one_in_any_script() {
    let FilesFixture { tree, host, .. } = fixture();
    for name in ["Straße", "plain", "ÄRGER"] {
        fs::create_dir_all(host.folder_of("c").join(name).join("Below")).unwrap();
    }
    for name in ["STRAßE", "PLAIN", "ärger", "\u{c4}rger"] {
        let below = path(&format!(r"C:\{name}\bELOW"));
        assert!(tree.entry(&below).unwrap().is_directory(), "{name}");
    }
    // The long s has the capital of the short one.
    assert!(tree.entry(&path("C:\\PLAIN\\below")).is_ok());
    fs::create_dir(host.folder_of("c").join("s")).unwrap();
    assert!(tree.entry(&path("C:\\\u{17f}")).is_ok());
}

#[test]
fn host_names_that_windows_cannot_have_are_shown_and_reached() {
    let FilesFixture { tree, host, .. } = fixture();
    let bytes = OsString::from_vec(vec![b'a', 0xff]);
    for name in ["a:b\\c".into(), bytes] {
        fs::write(host.folder_of("c").join(name), b"x").unwrap();
    }
    let listed = tree.list(&path(r"C:\")).unwrap();
    assert_eq!(listed.len(), 2);
    for entry in listed {
        let name = os::Component::listed(entry.name).unwrap();
        tree.remove_file(&path(r"C:\").join(name)).unwrap();
    }
    assert_eq!(tree.list(&path(r"C:\")), Ok(vec![]));
}
