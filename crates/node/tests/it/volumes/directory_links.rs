//! Directory links, whatever they lead to now.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use os::layer::forward::ForwardFiles;
use os::{FileAttributes, Files, LinkKind, Win32, WinPath};
use os_sim::files::FileTree;
use wincsi_node::{AllowedRoots, FilesystemError, Node, Options, ResolvedPath};

use crate::support::{DATA, KUBELET, NodeFixture, path};

const TARGET: &str = r"C:\var\target";
const LINK: &str = r"C:\var\link";

fn fixture() -> NodeFixture {
    let fixture = NodeFixture::new();
    let filesystem = fixture.filesystem();
    let var = path(r"C:\var");
    filesystem.make_directory(&var, fixture.soon()).unwrap();
    fixture
}

fn link(fixture: &NodeFixture, to: &str) -> Result<(), FilesystemError> {
    let filesystem = fixture.filesystem();
    filesystem.link_directory(&path(to), &path(LINK), fixture.soon())
}

fn attributes(fixture: &NodeFixture) -> FileAttributes {
    fixture.files().entry(&path(LINK)).unwrap().attributes
}

fn make(fixture: &NodeFixture, at: &str) {
    fixture.make_directory(at);
}

/// The staged volume is away while kubelet publishes it, as after a reboot.
#[test]
fn a_link_to_a_directory_that_is_away_can_be_entered_once_it_is_there() {
    let fixture = fixture();
    link(&fixture, TARGET).unwrap();
    assert_eq!(attributes(&fixture), FileAttributes(0x410));
    make(&fixture, TARGET);
    fixture.write(&format!(r"{LINK}\file"), "through the link");
    assert_eq!(fixture.read(&format!(r"{TARGET}\file")), "through the link");
    link(&fixture, TARGET).unwrap();
}

#[test]
fn a_file_link_to_the_same_directory_cannot_be_entered_and_gives_way() {
    let fixture = fixture();
    let create = || {
        let filesystem = fixture.filesystem();
        filesystem.create_symlink(&path(TARGET), &path(LINK), fixture.soon())
    };
    create().unwrap();
    assert_eq!(attributes(&fixture), FileAttributes(0x400));
    make(&fixture, TARGET);
    fixture.write(&format!(r"{TARGET}\file"), "behind the link");
    let behind = path(&format!(r"{LINK}\file"));
    let denied = fixture.files().entry(&behind).unwrap_err();
    assert_eq!(denied.win32(), Some(Win32::ACCESS_DENIED));
    link(&fixture, TARGET).unwrap();
    assert_eq!(attributes(&fixture), FileAttributes(0x410));
    assert_eq!(fixture.read(&format!(r"{LINK}\file")), "behind the link");
    create().unwrap();
    assert_eq!(attributes(&fixture), FileAttributes(0x410), "it stays");
}

#[test]
fn a_repeated_symlink_is_a_directory_link_once_its_source_is_there() {
    let fixture = fixture();
    let filesystem = fixture.filesystem();
    let create = || filesystem.create_symlink(&path(TARGET), &path(LINK), fixture.soon());
    create().unwrap();
    make(&fixture, TARGET);
    create().unwrap();
    assert_eq!(attributes(&fixture), FileAttributes(0x410));
}

/// Takes the link's name.
type Take<'a> = &'a dyn Fn(&NodeFixture);

#[test]
fn nothing_else_gives_way_to_a_directory_link() {
    let other = |fixture: &NodeFixture, kind| {
        let files = fixture.files();
        files.create_symlink(&path(LINK), r"C:\var\other", kind)
    };
    let taken: [(&str, Take<'_>); 5] = [
        ("a file", &|fixture| fixture.write(LINK, "kept")),
        ("a directory", &|fixture| make(fixture, LINK)),
        ("a directory link", &|fixture| {
            other(fixture, LinkKind::Directory).unwrap()
        }),
        ("a file link", &|fixture| {
            other(fixture, LinkKind::File).unwrap()
        }),
        ("a junction", &|fixture| {
            fixture.junction(LINK, r"C:\var\other")
        }),
    ];
    for (what, take) in taken {
        let fixture = fixture();
        take(&fixture);
        let before = fixture.state();
        let refused = link(&fixture, TARGET).unwrap_err();
        let FilesystemError::CreateLink { source, .. } = refused else {
            panic!("{what}: {refused}");
        };
        assert_eq!(source.win32(), Some(Win32::ALREADY_EXISTS), "{what}");
        assert_eq!(fixture.state(), before, "{what}");
    }
}

type Act = fn(&FileTree, &WinPath);

/// Somebody who puts another thing in the link's place at the worst moment: after it was read the second time, when
/// the name was found taken, and before it is removed.
struct Exchanging {
    tree: FileTree,
    files: Arc<dyn Files>,
    link: WinPath,
    reads: AtomicUsize,
    act: Act,
}

impl ForwardFiles for Exchanging {
    fn to(&self) -> &dyn Files {
        &*self.files
    }

    fn reparse_data(&self, path: &WinPath) -> os::Result<Vec<u8>> {
        let data = self.files.reparse_data(path);
        if *path == self.link && self.reads.fetch_add(1, Ordering::SeqCst) == 1 {
            self.tree.remove_file(path).unwrap();
            (self.act)(&self.tree, path);
        }
        data
    }
}

fn exchanging(fixture: &NodeFixture, link: &WinPath, act: Act) -> (Node, Arc<Exchanging>) {
    let mut os = fixture.os().clone();
    let exchanging = Arc::new(Exchanging {
        tree: fixture.files().clone(),
        files: Arc::clone(&os.files),
        link: link.clone(),
        reads: AtomicUsize::new(0),
        act,
    });
    os.files = Arc::clone(&exchanging) as Arc<dyn Files>;
    (Node::new(os, Options::default()), exchanging)
}

/// Guards: P57
#[test]
fn what_took_the_place_of_a_file_link_meanwhile_does_not_go_in_its_stead() {
    let acts: [(&str, Act); 4] = [
        ("a file", |tree, at| tree.write_file(at, b"kept").unwrap()),
        ("a directory", |tree, at| tree.create_directory(at).unwrap()),
        ("a directory link", |tree, at| {
            let kind = LinkKind::Directory;
            tree.create_symlink(at, r"C:\var\other", kind).unwrap();
        }),
        ("a socket", |tree, at| {
            let socket = [0x23, 0, 0, 0x80, 0, 0, 0, 0];
            tree.create_reparse_point(at, LinkKind::File, &socket)
                .unwrap();
        }),
    ];
    for (what, act) in acts {
        for is_confined in [false, true] {
            let fixture = NodeFixture::with_mounted_volume();
            let link = path(r"C:\var\lib\kubelet\link");
            let resolved = match is_confined {
                true => AllowedRoots::resolve_roots(fixture.os(), &[path(KUBELET)])
                    .resolve(fixture.os(), &link)
                    .unwrap(),
                false => ResolvedPath::from(&link),
            };
            let tree = fixture.files();
            tree.create_symlink(&link, TARGET, LinkKind::File).unwrap();
            let (node, exchanging) = exchanging(&fixture, &link, act);
            let filesystem = node.operations().filesystem();
            let linked = filesystem.link_directory(&path(TARGET), resolved, fixture.soon());
            assert_eq!(exchanging.reads.load(Ordering::SeqCst), 2, "{what}");
            let FilesystemError::CreateLink { source, .. } = linked.unwrap_err() else {
                panic!("{what}");
            };
            assert_eq!(source.win32(), Some(Win32::ALREADY_EXISTS), "{what}");
            let kept = tree.entry(&link).unwrap();
            let wanted = path(r"C:\var\wanted");
            act(tree, &wanted);
            assert_eq!(kept, tree.entry(&wanted).unwrap(), "{what}");
        }
    }
}

/// The share is not mapped, its server not known: nobody looks.
#[test]
fn a_link_to_a_share_asks_nothing_of_its_server() {
    let fixture = fixture();
    let operations = fixture.trace(|| {
        link(&fixture, r"\\files\share\pv").unwrap();
        link(&fixture, r"\\files\share\pv\").unwrap();
    });
    let asked = operations.iter().find(|op| op.object.contains("files"));
    assert_eq!(asked, None);
    let data = fixture.files().reparse_data(&path(LINK)).unwrap();
    let reparse = formats::reparse::Reparse::parse(&data).unwrap();
    let formats::reparse::Reparse::Symlink { names, .. } = reparse else {
        panic!("{reparse:?}");
    };
    // kubernetes#94213
    assert_eq!(names.print, r"\\files\share\pv\");
    assert_eq!(attributes(&fixture), FileAttributes(0x410));
}

#[test]
fn a_link_to_a_volume_as_such_is_made_once() {
    let fixture = NodeFixture::with_volume();
    make(&fixture, r"C:\var");
    let volume = fixture.volume().to_string();
    link(&fixture, &volume).unwrap();
    link(&fixture, &volume).unwrap();
    fixture.write(&format!(r"{LINK}\data.txt"), "precious");
    assert_eq!(fixture.precious(), "precious");
    assert!(link(&fixture, r"C:\var").is_err());
}

/// A staged volume whose disk was pulled out.
#[test]
fn a_link_whose_device_is_gone_is_made_all_the_same() {
    let fixture = NodeFixture::with_mounted_volume();
    let staging: WinPath = fixture.staging();
    fixture.hardware().detach_disk(DATA).unwrap();
    let pod = path(r"C:\var\lib\kubelet\pod");
    let filesystem = fixture.filesystem();
    filesystem
        .link_directory(&staging, &pod, fixture.soon())
        .unwrap();
    let entry = fixture.files().entry(&pod).unwrap();
    assert_eq!(entry.attributes, FileAttributes(0x410));
}
