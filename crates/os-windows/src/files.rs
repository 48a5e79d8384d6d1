use std::os::windows::io::OwnedHandle;

use formats::reparse::{self, Reparse, Target};
use os::{
    Dacl, DirEntry, Entry, FileAttributes, Files, LinkKind, Pin, ReparseTag, VolumeId, Volumes,
    Win32, WinPath,
};
use windows_sys::Win32::Storage::FileSystem::{
    FIND_FIRST_EX_LARGE_FETCH, SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE,
    SYMBOLIC_LINK_FLAG_DIRECTORY,
};
use windows_sys::Win32::System::Ioctl::{FSCTL_DELETE_REPARSE_POINT, FSCTL_GET_REPARSE_POINT};

use crate::failure;
use crate::held::HeldDirectory;
use crate::raw::find::{Found, Search};
use crate::raw::handle::{self, Purpose};
use crate::raw::identity::{self, Identity};
use crate::raw::{file, relative, security};
use crate::volumes::NativeVolumes;
use crate::wide::Wide;

/// The machine's files, by Win32.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeFiles;

impl NativeFiles {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Files for NativeFiles {
    fn entry(&self, path: &WinPath) -> os::Result<Entry> {
        Wide::path(path)
            .and_then(|name| match path.components() {
                [] => root(&name),
                _ => entry(&name),
            })
            .map_err(|code| failure::error("GetFileAttributesExW", path, code))
    }

    fn leads_to_directory(&self, path: &WinPath) -> os::Result<bool> {
        Wide::path(path)
            .and_then(|path| leads_to_directory(&path))
            .map_err(|code| failure::error("CreateFileW", path, code))
    }

    fn reparse_data(&self, path: &WinPath) -> os::Result<Vec<u8>> {
        Wide::path(path)
            .and_then(|path| reparse_data(&path))
            .map_err(|code| failure::error("FSCTL_GET_REPARSE_POINT", path, code))
    }

    fn list(&self, directory: &WinPath) -> os::Result<Vec<DirEntry>> {
        self.list_some(directory, usize::MAX)
    }

    fn list_some(&self, directory: &WinPath, most: usize) -> os::Result<Vec<DirEntry>> {
        Wide::everything_in(directory)
            .and_then(|pattern| list(&pattern, most))
            .map_err(|code| failure::error("FindFirstFileExW", directory, code))
    }

    fn pin(&self, directory: &WinPath) -> os::Result<Pin> {
        Wide::path(directory)
            .and_then(|path| handle::open(&path, Purpose::HoldEntry))
            .and_then(|handle| HeldDirectory::of(directory.clone(), handle))
            .map(Pin::holding)
            .map_err(|code| failure::error("CreateFileW", directory, code))
    }

    fn create_directory(&self, path: &WinPath) -> os::Result<()> {
        Wide::path(path)
            .and_then(|path| file::create_directory(&path))
            .map_err(|code| failure::error("CreateDirectoryW", path, code))
    }

    /// A mounted folder is unmounted first: the documentation of `RemoveDirectoryW` covers
    /// junctions, and only that of `DeleteVolumeMountPointW` mounted folders. .NET does the same
    /// (`FileSystem.RemoveDirectory` in dotnet/runtime).
    ///
    /// Sources: <https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-removedirectoryw>,
    /// <https://learn.microsoft.com/windows/win32/fileio/unmounting-a-volume-at-a-mount-point>.
    fn remove_directory(&self, path: &WinPath) -> os::Result<()> {
        let failed = |code| failure::error("RemoveDirectoryW", path, code);
        let name = Wide::path(path).map_err(failed)?;
        if let Some(mounted) = mounted(&name).map_err(failed)? {
            mounted.forget(path)?;
        }
        file::remove_directory(&name).map_err(failed)
    }

    fn remove_file(&self, path: &WinPath) -> os::Result<()> {
        Wide::path(path)
            .and_then(|path| file::remove_file(&path))
            .map_err(|code| failure::error("DeleteFileW", path, code))
    }

    fn remove_symlink(&self, path: &WinPath, kind: LinkKind) -> os::Result<()> {
        Wide::path(path)
            .and_then(|path| handle::open(&path, Purpose::RemoveEntry))
            .and_then(|entry| remove_symlink(&entry, kind))
            .map_err(|code| failure::error("SetFileInformationByHandle", path, code))
    }

    fn clear_read_only(&self, path: &WinPath) -> os::Result<()> {
        Wide::path(path)
            .and_then(|path| clear_read_only(&path))
            .map_err(|code| failure::error("SetFileAttributesW", path, code))
    }

    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> os::Result<()> {
        create_symlink(link, target, kind)
            .map_err(|code| failure::error("CreateSymbolicLinkW", link, code))
    }

    fn dacl(&self, directory: &WinPath) -> os::Result<String> {
        plain_directory(directory, Purpose::LookAtRights)
            .and_then(|directory| security::dacl(&directory))
            .map_err(|code| failure::error("GetSecurityInfo", directory, code))
    }

    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> os::Result<()> {
        plain_directory(directory, Purpose::ChangeRights)
            .and_then(|directory| security::set_dacl(&directory, dacl))
            .map_err(|code| failure::error("SetSecurityInfo", directory, code))
    }
}

/// A search finds no root: `FindFirstFileExW` takes no path that ends in a backslash.
///
/// <https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-findfirstfileexw>
fn root(path: &Wide) -> Result<Entry, Win32> {
    match file::attributes(path) {
        Ok((attributes, _)) if !attributes.contains(FileAttributes::REPARSE_POINT) => Ok(Entry {
            attributes,
            tag: None,
            size: 0,
        }),
        Ok(_) | Err(Win32::SHARING_VIOLATION) => root_itself(path),
        Err(code) => Err(code),
    }
}

/// The root by a handle, as an entry where it is a link.
fn root_itself(path: &Wide) -> Result<Entry, Win32> {
    let (attributes, tag) = handle::tagged(&handle::open(path, Purpose::LookAtEntry)?)?;
    Ok(Entry {
        attributes,
        tag,
        size: 0,
    })
}

/// One call in the common case. A search reports the tag, and works for an entry opened exclusively
/// (a page file).
fn entry(path: &Wide) -> Result<Entry, Win32> {
    match file::attributes(path) {
        Ok((attributes, size)) if !attributes.contains(FileAttributes::REPARSE_POINT) => {
            let is_directory = attributes.contains(FileAttributes::DIRECTORY);
            Ok(Entry {
                attributes,
                tag: None,
                size: if is_directory { 0 } else { size },
            })
        }
        Ok(_) | Err(Win32::SHARING_VIOLATION) => {
            let (_search, found) = Search::begin(path, 0)?;
            Ok(found.entry)
        }
        Err(code) => Err(code),
    }
}

fn leads_to_directory(path: &Wide) -> Result<bool, Win32> {
    let (attributes, _) = file::attributes(path)?;
    if !attributes.contains(FileAttributes::REPARSE_POINT) {
        return Ok(attributes.contains(FileAttributes::DIRECTORY));
    }
    let target = handle::open(path, Purpose::LookAtTarget)?;
    Ok(handle::attributes(&target)?.contains(FileAttributes::DIRECTORY))
}

fn reparse_data(path: &Wide) -> Result<Vec<u8>, Win32> {
    reparse_data_of(&handle::open(path, Purpose::LookAtEntry)?)
}

fn reparse_data_of(link: &OwnedHandle) -> Result<Vec<u8>, Win32> {
    let mut data = vec![0; reparse::MAX_SIZE];
    let filled = handle::control(link, FSCTL_GET_REPARSE_POINT, &[], &mut data)?;
    data.truncate(filled);
    Ok(data)
}

/// The root of a drive has no dots, so an empty one has nothing at all to find.
fn list(pattern: &Wide, most: usize) -> Result<Vec<DirEntry>, Win32> {
    let (mut search, first) = match Search::begin(pattern, FIND_FIRST_EX_LARGE_FETCH) {
        Ok(begun) => begun,
        Err(Win32::FILE_NOT_FOUND) => return Ok(Vec::new()),
        Err(code) => return Err(code),
    };
    let mut entries = Vec::new();
    let mut next = Some(first);
    while let Some(Found { name, entry }) = next {
        if entries.len() >= most {
            break;
        }
        if name != "." && name != ".." {
            entries.push(DirEntry { name, entry });
        }
        next = search.next()?;
    }
    Ok(entries)
}

/// Opens a directory that is no reparse point.
fn plain_directory(path: &WinPath, purpose: Purpose) -> Result<OwnedHandle, Win32> {
    let directory = handle::open(&Wide::path(path)?, purpose)?;
    let attributes = handle::attributes(&directory)?;
    let is_plain = attributes.contains(FileAttributes::DIRECTORY)
        && !attributes.contains(FileAttributes::REPARSE_POINT);
    is_plain.then_some(directory).ok_or(Win32::DIRECTORY)
}

/// A folder with a mounted volume.
pub(crate) struct MountedFolder {
    volume: VolumeId,
    identity: Result<Identity, Win32>,
}

impl MountedFolder {
    /// The mounted folder of a handle, if it is one.
    pub(crate) fn of(entry: &OwnedHandle) -> Result<Option<Self>, Win32> {
        let volume = volume_mounted_at(entry)?;
        Ok(volume.map(|volume| Self::on(entry, volume)))
    }

    /// The folder of a handle, with this mounted volume.
    pub(crate) fn on(entry: &OwnedHandle, volume: VolumeId) -> Self {
        let identity = identity::of(entry);
        Self { volume, identity }
    }

    /// Whether a handle is on this folder. On a filesystem without ids it is if there is still no id.
    pub(crate) fn is(&self, entry: &OwnedHandle) -> bool {
        identity::of(entry) == self.identity
    }

    /// Notifies the mount manager, by the folder's path, before its removal. No handle on it may be open for deletion.
    ///
    /// A folder of a vanished volume has to go too, so a failure is ignored if the mount manager certainly does not
    /// list the folder among its volume's paths. Otherwise it is an error, and nothing is removed: the folder can be
    /// unmounted later, whereas no known call removes a missing folder's path from the volume's paths.
    pub(crate) fn forget(&self, path: &WinPath) -> os::Result<()> {
        let volumes = NativeVolumes::new();
        let Err(error) = volumes.delete_mount_point(path) else {
            return Ok(());
        };
        if self.may_be_among(&volumes.access_paths(self.volume)) {
            return Err(error);
        }
        tracing::warn!(%error, volume = %self.volume, "the mount manager does not name the folder, which goes anyway");
        Ok(())
    }

    /// Whether one of the mount manager's paths for the volume may lead to the folder. A path has several spellings (by
    /// a drive, a volume's name, a link), so this compares the targets.
    fn may_be_among(&self, paths: &os::Result<Vec<WinPath>>) -> bool {
        match paths {
            // A root is no folder of another volume.
            Ok(paths) => paths
                .iter()
                .any(|path| path.name().is_some() && !self.is_elsewhere(path)),
            Err(error) => !error.is_not_found(),
        }
    }

    /// Whether a path leads to another entry for certain, or to none.
    fn is_elsewhere(&self, path: &WinPath) -> bool {
        let found = Wide::path(path)
            .and_then(|name| handle::open(&name, Purpose::LookAtEntry))
            .and_then(|entry| identity::of(&entry));
        match (found, self.identity) {
            (Ok(found), Ok(own)) => found != own,
            (Ok(_), Err(_)) => false,
            (Err(code), _) => failure::error("CreateFileW", path, code).is_not_found(),
        }
    }
}

/// The entry at a path, if it is a mounted folder.
fn mounted(path: &Wide) -> Result<Option<MountedFolder>, Win32> {
    if entry(path)?.tag != Some(ReparseTag::MOUNT_POINT) {
        return Ok(None);
    }
    MountedFolder::of(&handle::open(path, Purpose::LookAtEntry)?)
}

/// The volume mounted at a folder. A junction has the same tag, but its target is no volume's name.
fn volume_mounted_at(entry: &OwnedHandle) -> Result<Option<VolumeId>, Win32> {
    let folder_that_leads_on = FileAttributes::DIRECTORY.and(FileAttributes::REPARSE_POINT);
    if !handle::attributes(entry)?.contains(folder_that_leads_on) {
        return Ok(None);
    }
    let Ok(Reparse::MountPoint(names)) = Reparse::parse(&reparse_data_of(entry)?) else {
        return Ok(None);
    };
    Ok(match names.target() {
        Target::Volume(guid) => Some(VolumeId(guid)),
        Target::Junction(_) => None,
    })
}

/// Removes the reparse point of a folder that mounts this volume, by one handle, so only the point just read is
/// removed. The input is the header of the point's data: its tag and a length of zero ([MS-FSCC] 2.3.5).
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_delete_reparse_point>
pub(crate) fn take_mount_from(path: &Wide, volume: VolumeId) -> Result<(), Win32> {
    let entry = handle::open(path, Purpose::ChangeLink)?;
    if !handle::attributes(&entry)?.contains(FileAttributes::REPARSE_POINT) {
        return Err(Win32::NOT_A_REPARSE_POINT);
    }
    if volume_mounted_at(&entry)? != Some(volume) {
        return Err(Win32::REPARSE_TAG_MISMATCH);
    }
    let header = u64::from(ReparseTag::MOUNT_POINT.0).to_le_bytes();
    handle::control(&entry, FSCTL_DELETE_REPARSE_POINT, &header, &mut []).map(drop)
}

/// Removes a handle's entry if it is a symbolic link of this kind. A new entry of its name stays.
pub(crate) fn remove_symlink(entry: &OwnedHandle, kind: LinkKind) -> Result<(), Win32> {
    let (attributes, tag) = handle::tagged(entry)?;
    let is_directory = attributes.contains(FileAttributes::DIRECTORY);
    match tag {
        Some(ReparseTag::SYMLINK) if is_directory == (kind == LinkKind::Directory) => {
            relative::delete(entry)
        }
        Some(_) => Err(Win32::REPARSE_TAG_MISMATCH),
        None => Err(Win32::NOT_A_REPARSE_POINT),
    }
}

fn clear_read_only(path: &Wide) -> Result<(), Win32> {
    let (attributes, _) = file::attributes(path)?;
    if !attributes.contains(FileAttributes::READ_ONLY) {
        return Ok(());
    }
    file::set_attributes(path, without_read_only(attributes))
}

/// The other attributes; zero would change nothing.
pub(crate) fn without_read_only(attributes: FileAttributes) -> FileAttributes {
    match attributes.0 & !FileAttributes::READ_ONLY.0 {
        0 => FileAttributes::NORMAL,
        rest => FileAttributes(rest),
    }
}

/// Without the privilege to make links Windows allows them in developer mode, by a flag refused
/// before version 1703.
///
/// Source: <https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-createsymboliclinkw>.
fn create_symlink(link: &WinPath, target: &str, kind: LinkKind) -> Result<(), Win32> {
    let (link, target) = Wide::symlink(link, target)?;
    let kind = match kind {
        LinkKind::Directory => SYMBOLIC_LINK_FLAG_DIRECTORY,
        LinkKind::File => 0,
    };
    let unprivileged = kind | SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE;
    match file::create_symlink(&link, &target, unprivileged) {
        Err(Win32::INVALID_PARAMETER) => file::create_symlink(&link, &target, kind),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use os::Cause;

    use super::*;

    /// A search does not find it, as its path ends in a backslash.
    #[test]
    fn a_root_is_looked_at_by_a_handle() {
        let root: WinPath = r"C:\".parse().expect("a root");
        let name = Wide::path(&root).expect("no NUL");
        let seen = root_itself(&name).expect("a drive");
        assert!(seen.is_directory());
        assert_eq!(Ok(seen), super::root(&name));
        assert!(Search::begin(&name, 0).is_err());
    }

    fn path(text: &str) -> WinPath {
        text.parse().expect("a path")
    }

    /// An entry as a folder with a vanished volume mounted.
    fn folder(at: &WinPath) -> MountedFolder {
        let gone = r"\\?\Volume{00000000-0000-0000-0000-000000000bad}\".parse();
        let entry = handle::open(&Wide::path(at).expect("no NUL"), Purpose::LookAtEntry);
        MountedFolder {
            volume: gone.expect("a volume"),
            identity: entry.and_then(|entry| identity::of(&entry)),
        }
    }

    #[test]
    fn a_folder_of_a_volume_that_is_gone_may_go() {
        let missing = path(r"C:\wincsi-missing\mnt");
        assert!(NativeVolumes::new().delete_mount_point(&missing).is_err());
        assert_eq!(folder(&missing).forget(&missing), Ok(()));
    }

    /// A hard link gives an entry two paths, as a folder has them by a drive's letter and its volume's name.
    #[test]
    fn a_folder_that_the_mount_manager_names_otherwise_stays() {
        let all = std::env::temp_dir().join(format!("wincsi-named-{}", std::process::id()));
        std::fs::create_dir_all(&all).expect("a folder");
        let [mnt, again, other] = ["Mnt", "again", "other"].map(|name| all.join(name));
        std::fs::write(&mnt, "").expect("an entry");
        std::fs::hard_link(&mnt, &again).expect("a second name");
        std::fs::write(&other, "").expect("another entry");
        let at = |found: &std::path::Path| path(found.to_str().expect("Unicode"));
        let mounted = folder(&at(&mnt));
        for named in [
            at(&mnt),
            at(&again),
            path(&at(&mnt).to_string().to_uppercase()),
        ] {
            let paths = Ok(vec![path(r"E:\"), at(&other), named.clone()]);
            assert!(mounted.may_be_among(&paths), "{named}");
        }
        let elsewhere = [path(r"C:\"), at(&other), at(&all), at(&all.join("none"))];
        assert!(!mounted.may_be_among(&Ok(elsewhere.to_vec())));
        assert!(!mounted.may_be_among(&Ok(Vec::new())));
        let unknown = MountedFolder {
            identity: Err(Win32::NOT_SUPPORTED),
            ..mounted
        };
        assert!(unknown.may_be_among(&Ok(vec![at(&other)])));
        assert!(!unknown.may_be_among(&Ok(vec![path(r"C:\")])));
        std::fs::remove_dir_all(&all).expect("a folder");
    }

    /// A failed query decides nothing, unless the volume does not exist.
    #[test]
    fn a_folder_stays_while_it_is_not_known_whether_it_is_named() {
        let folder = folder(&path(r"C:\windows"));
        let failed = |cause: Cause| Err(os::Error::new("look", "volume", cause));
        let odd = Cause::Malformed("an odd path".to_owned());
        for cause in [Win32::NOT_READY.into(), Win32::IO_DEVICE.into(), odd] {
            assert!(folder.may_be_among(&failed(cause)));
        }
        assert!(!folder.may_be_among(&failed(Win32::FILE_NOT_FOUND.into())));
    }
}
