use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use os::{
    Error, FileAttributes, Files, LinkKind, ReparseTag, Result, Root, VolumeId, Win32, WinPath,
};
use tempfile::TempDir;

use super::{FileTree, MountWatcher, Roots, names};

const VOLUME: &str = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\";

/// Drive C and one volume, each a folder.
pub(super) struct Host(TempDir);

impl Host {
    pub(super) fn folder_of(&self, root: &str) -> PathBuf {
        self.0.path().join(root)
    }
}

impl Roots for Host {
    fn folder(&self, root: &Root) -> Result<PathBuf> {
        match root {
            Root::Drive('C') => Ok(self.folder_of("c")),
            Root::Volume(id) if id.to_string() == VOLUME => Ok(self.folder_of("volume")),
            Root::Volume(_) => Err(Error::new("CreateFileW", root, Win32::NO_SUCH_DEVICE)),
            _ => Err(Error::new("CreateFileW", root, Win32::PATH_NOT_FOUND)),
        }
    }

    fn is_read_only(&self, root: &Root) -> bool {
        matches!(root, Root::Volume(_))
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl MountWatcher for Notes {
    fn forget(&self, folder: &WinPath, volume: VolumeId) {
        self.0.lock().unwrap().push(format!("{folder} {volume}"));
    }
}

pub(super) struct FilesFixture {
    pub(super) tree: FileTree,
    pub(super) host: Arc<Host>,
    notes: Arc<Notes>,
}

pub(super) fn fixture() -> FilesFixture {
    let host = Arc::new(Host(tempfile::tempdir().expect("a folder for the test")));
    for root in ["c", "volume"] {
        fs::create_dir(host.folder_of(root)).expect("a folder for the root");
    }
    let notes = Arc::new(Notes::default());
    FilesFixture {
        tree: FileTree::new(host.clone()).with_mount_watcher(notes.clone()),
        host,
        notes,
    }
}

pub(super) fn path(text: &str) -> WinPath {
    text.parse().expect(text)
}

pub(super) fn code<T>(result: Result<T>) -> Option<Win32> {
    result.err().and_then(|error| error.win32())
}

#[test]
fn a_mounted_folder_leads_to_the_volume_and_back() {
    let FilesFixture { tree, notes, host } = fixture();
    let volume = VOLUME.parse().unwrap();
    fs::write(host.folder_of("volume").join("Data"), b"kept").unwrap();
    tree.create_directory(&path(r"C:\Mnt")).unwrap();

    let remembered = tree.set_mount_point(&path(r"c:\mnt"), volume).unwrap();
    assert_eq!(remembered.folded(), path(r"C:\Mnt").folded());
    assert_eq!(tree.mounted_volume(&path(r"C:\mnt")), Ok(volume));
    assert_eq!(tree.read_file(&path(r"C:\mnt\data")), Ok(b"kept".to_vec()));
    let entry = tree.entry(&path(r"C:\mnt")).unwrap();
    assert_eq!(entry.tag, Some(ReparseTag::MOUNT_POINT));
    assert!(
        entry
            .attributes
            .contains(FileAttributes::REPARSE_POINT.and(FileAttributes::DIRECTORY))
    );

    let unmounted = tree.remove_mount_point(&path(r"C:\MNT")).unwrap();
    assert_eq!(unmounted.0.folded(), remembered.folded());
    assert_eq!(unmounted.1, volume);
    assert_eq!(tree.list(&path(r"C:\mnt")), Ok(vec![]));
    assert!(notes.0.lock().unwrap().is_empty(), "the caller knows");
}

#[test]
fn removing_a_mounted_folder_keeps_the_files_and_tells_the_mount_manager() {
    let FilesFixture { tree, notes, host } = fixture();
    fs::write(host.folder_of("volume").join("data"), b"kept").unwrap();
    tree.create_directory(&path(r"C:\real")).unwrap();
    tree.create_directory(&path(r"C:\real\mnt")).unwrap();
    tree.create_symlink(&path(r"C:\link"), r"C:\real", LinkKind::Directory)
        .unwrap();
    tree.set_mount_point(&path(r"C:\real\mnt"), VOLUME.parse().unwrap())
        .unwrap();

    tree.remove_directory(&path(r"C:\link\mnt")).unwrap();
    assert_eq!(*notes.0.lock().unwrap(), [format!(r"C:\real\mnt {VOLUME}")]);
    assert_eq!(
        code(tree.entry(&path(r"C:\real\mnt"))),
        Some(Win32::FILE_NOT_FOUND)
    );
    assert_eq!(
        fs::read(host.folder_of("volume").join("data")).unwrap(),
        b"kept"
    );
}

#[test]
fn a_mounted_folder_of_a_lost_volume_can_be_looked_at_and_removed() {
    let FilesFixture { tree, .. } = fixture();
    let lost = r"\\?\Volume{00000000-0000-0000-0000-000000000001}\"
        .parse()
        .unwrap();
    tree.create_directory(&path(r"C:\mnt")).unwrap();
    tree.set_mount_point(&path(r"C:\mnt"), lost).unwrap();
    assert_eq!(
        code(tree.list(&path(r"C:\mnt"))),
        Some(Win32::NO_SUCH_DEVICE)
    );
    assert_eq!(
        code(tree.leads_to_directory(&path(r"C:\mnt"))),
        Some(Win32::NO_SUCH_DEVICE)
    );
    assert_eq!(
        tree.entry(&path(r"C:\mnt")).unwrap().tag,
        Some(ReparseTag::MOUNT_POINT)
    );
    tree.remove_directory(&path(r"C:\mnt")).unwrap();
}

#[test]
fn a_read_only_filesystem_refuses_every_change() {
    let FilesFixture { tree, host, .. } = fixture();
    fs::write(host.folder_of("volume").join("data"), b"kept").unwrap();
    let below = |name: &str| path(&format!("{VOLUME}{name}"));
    let refused = [
        code(tree.create_directory(&below("new"))),
        code(tree.remove_file(&below("data"))),
        code(tree.clear_read_only(&below("data"))),
        code(tree.create_symlink(&below("link"), "data", LinkKind::File)),
        code(tree.write_file(&below("data"), b"")),
    ];
    assert_eq!(refused, [Some(Win32::WRITE_PROTECT); 5]);
    assert_eq!(tree.entry(&below("data")).unwrap().size, 4);
}

#[test]
fn our_own_names_exist_for_nobody() {
    let FilesFixture { tree, .. } = fixture();
    tree.create_symlink(&path(r"C:\link"), r"C:\", LinkKind::Directory)
        .unwrap();
    let names: Vec<_> = tree
        .list(&path(r"C:\"))
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["link"]);
    for name in [names::MARKER, "$wincsi.staging"] {
        let reserved = path(r"C:\").join(os::Component::parse(name).unwrap());
        assert_eq!(code(tree.entry(&reserved)), Some(Win32::INVALID_NAME));
        assert_eq!(
            code(tree.create_directory(&reserved)),
            Some(Win32::INVALID_NAME)
        );
    }
}

#[test]
fn what_a_killed_process_left_in_the_staging_folder_is_in_nobodys_way() {
    let FilesFixture { tree, host, .. } = fixture();
    tree.create_directory(&path(r"C:\d")).unwrap();
    let left = names::staging(&host.folder_of("c")).unwrap();
    fs::create_dir(&left).unwrap();
    fs::write(left.join(names::MARKER), b"half").unwrap();
    tree.create_symlink(&path(r"C:\d\link"), "x", LinkKind::File)
        .unwrap();
    tree.remove_file(&path(r"C:\d\link")).unwrap();
    tree.remove_directory(&path(r"C:\d")).unwrap();
    assert_eq!(tree.list(&path(r"C:\")), Ok(vec![]));
}

#[test]
fn a_marker_that_is_not_ours_is_corrupt_and_not_followed() {
    let FilesFixture { tree, host, .. } = fixture();
    let strange = host.folder_of("c").join("strange");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join(names::MARKER), b"nonsense").unwrap();
    assert_eq!(code(tree.entry(&path(r"C:\strange"))), Some(Win32(1392)));
}
