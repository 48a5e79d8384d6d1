//! Directory links, whatever they lead to now.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{FileAttributes, Files, LinkKind, Win32, WinPath};
use wincsi_node::FilesystemError;

use crate::support::{DATA, Rig, path};

const TARGET: &str = r"C:\var\target";
const LINK: &str = r"C:\var\link";

fn rig() -> Rig {
    let rig = Rig::new();
    let filesystem = rig.filesystem();
    let var = path(r"C:\var");
    filesystem.make_directory(&var, rig.soon()).unwrap();
    rig
}

fn link(rig: &Rig, to: &str) -> Result<(), FilesystemError> {
    let filesystem = rig.filesystem();
    filesystem.link_directory(&path(to), &path(LINK), rig.soon())
}

fn attributes(rig: &Rig) -> FileAttributes {
    rig.sim.files().entry(&path(LINK)).unwrap().attributes
}

fn make(rig: &Rig, at: &str) {
    let filesystem = rig.filesystem();
    filesystem.make_directory(&path(at), rig.soon()).unwrap();
}

/// The staged volume is away while kubelet publishes it, as after a reboot.
#[test]
fn a_link_to_a_directory_that_is_away_can_be_entered_once_it_is_there() {
    let rig = rig();
    link(&rig, TARGET).unwrap();
    assert_eq!(attributes(&rig), FileAttributes(0x410));
    make(&rig, TARGET);
    rig.write(&format!(r"{LINK}\file"), "through the link");
    assert_eq!(rig.read(&format!(r"{TARGET}\file")), "through the link");
    link(&rig, TARGET).unwrap();
}

#[test]
fn a_file_link_to_the_same_directory_cannot_be_entered_and_gives_way() {
    let rig = rig();
    let create = || {
        let filesystem = rig.filesystem();
        filesystem.create_symlink(&path(TARGET), &path(LINK), rig.soon())
    };
    create().unwrap();
    assert_eq!(attributes(&rig), FileAttributes(0x400));
    make(&rig, TARGET);
    rig.write(&format!(r"{TARGET}\file"), "behind the link");
    let behind = path(&format!(r"{LINK}\file"));
    let denied = rig.sim.files().entry(&behind).unwrap_err();
    assert_eq!(denied.win32(), Some(Win32::ACCESS_DENIED));
    link(&rig, TARGET).unwrap();
    assert_eq!(attributes(&rig), FileAttributes(0x410));
    assert_eq!(rig.read(&format!(r"{LINK}\file")), "behind the link");
    create().unwrap();
    assert_eq!(attributes(&rig), FileAttributes(0x410), "it stays");
}

#[test]
fn a_repeated_symlink_is_a_directory_link_once_its_source_is_there() {
    let rig = rig();
    let filesystem = rig.filesystem();
    let create = || filesystem.create_symlink(&path(TARGET), &path(LINK), rig.soon());
    create().unwrap();
    make(&rig, TARGET);
    create().unwrap();
    assert_eq!(attributes(&rig), FileAttributes(0x410));
}

/// Takes the link's name.
type Take<'a> = &'a dyn Fn(&Rig);

#[test]
fn nothing_else_gives_way_to_a_directory_link() {
    let other = |rig: &Rig, kind| {
        let files = rig.sim.files();
        files.create_symlink(&path(LINK), r"C:\var\other", kind)
    };
    let taken: [(&str, Take<'_>); 5] = [
        ("a file", &|rig| rig.write(LINK, "kept")),
        ("a directory", &|rig| make(rig, LINK)),
        ("a directory link", &|rig| {
            other(rig, LinkKind::Directory).unwrap()
        }),
        ("a file link", &|rig| other(rig, LinkKind::File).unwrap()),
        ("a junction", &|rig| rig.junction(LINK, r"C:\var\other")),
    ];
    for (what, take) in taken {
        let rig = rig();
        take(&rig);
        let before = rig.state();
        let refused = link(&rig, TARGET).unwrap_err();
        let FilesystemError::CreateLink { source, .. } = refused else {
            panic!("{what}: {refused}");
        };
        assert_eq!(source.win32(), Some(Win32::ALREADY_EXISTS), "{what}");
        assert_eq!(rig.state(), before, "{what}");
    }
}

/// The share is not mapped, its server not known: nobody looks.
#[test]
fn a_link_to_a_share_asks_nothing_of_its_server() {
    let rig = rig();
    let operations = rig.trace(|| {
        link(&rig, r"\\files\share\pv").unwrap();
        link(&rig, r"\\files\share\pv\").unwrap();
    });
    let asked = operations.iter().find(|op| op.object.contains("files"));
    assert_eq!(asked, None);
    let data = rig.sim.files().reparse_data(&path(LINK)).unwrap();
    let reparse = formats::reparse::Reparse::parse(&data).unwrap();
    let formats::reparse::Reparse::Symlink { names, .. } = reparse else {
        panic!("{reparse:?}");
    };
    // kubernetes#94213
    assert_eq!(names.print, r"\\files\share\pv\");
    assert_eq!(attributes(&rig), FileAttributes(0x410));
}

#[test]
fn a_link_to_a_volume_as_such_is_made_once() {
    let rig = Rig::with_volume();
    make(&rig, r"C:\var");
    let volume = rig.volume().to_string();
    link(&rig, &volume).unwrap();
    link(&rig, &volume).unwrap();
    rig.write(&format!(r"{LINK}\data.txt"), "precious");
    assert_eq!(rig.precious(), "precious");
    assert!(link(&rig, r"C:\var").is_err());
}

/// A staged volume whose disk was pulled out.
#[test]
fn a_link_whose_device_is_gone_is_made_all_the_same() {
    let rig = Rig::with_mounted_volume();
    let staging: WinPath = rig.staging();
    rig.sim.hardware().detach_disk(DATA).unwrap();
    let pod = path(r"C:\var\lib\kubelet\pod");
    let filesystem = rig.filesystem();
    filesystem
        .link_directory(&staging, &pod, rig.soon())
        .unwrap();
    let entry = rig.sim.files().entry(&pod).unwrap();
    assert_eq!(entry.attributes, FileAttributes(0x410));
}
