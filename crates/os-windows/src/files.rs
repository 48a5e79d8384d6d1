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
use crate::raw::{file, security};
use crate::volumes::NativeVolumes;
use crate::wide::Wide;

/// The machine's files, by Win32.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeFiles;

impl NativeFiles {
    /// The files.
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

    /// A mounted folder is unmounted first: the documentation of `RemoveDirectoryW` speaks of
    /// junctions, and only that of `DeleteVolumeMountPointW` of mounted folders. .NET does the same
    /// (`FileSystem.RemoveDirectory` in dotnet/runtime).
    ///
    /// Sources: <https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-removedirectoryw>,
    /// <https://learn.microsoft.com/windows/win32/fileio/unmounting-a-volume-at-a-mount-point>.
    fn remove_directory(&self, path: &WinPath) -> os::Result<()> {
        let failed = |code| failure::error("RemoveDirectoryW", path, code);
        let name = Wide::path(path).map_err(failed)?;
        if let Some(volume) = mounted_volume(&name).map_err(failed)? {
            forget(path, volume)?;
        }
        file::remove_directory(&name).map_err(failed)
    }

    fn remove_file(&self, path: &WinPath) -> os::Result<()> {
        Wide::path(path)
            .and_then(|path| file::remove_file(&path))
            .map_err(|code| failure::error("DeleteFileW", path, code))
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

/// A root has no name that a search could find: `FindFirstFileExW` takes no path that ends in a backslash.
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

/// One call in the common case. A search is what tells the tag, and what an entry that somebody
/// holds alone (a page file) still answers.
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

/// Tells the mount manager that a mounted folder is about to go. No handle that is open for deletion
/// may be on it.
///
/// A folder whose volume is gone has to go too, so a failure is passed over where the mount manager
/// certainly does not name the folder among the paths of its volume. Otherwise it is an error, and nothing
/// is removed: the folder can be unmounted later, whereas no call that we know takes the path of a folder
/// that is no more from the volume's paths.
pub(crate) fn forget(folder: &WinPath, volume: VolumeId) -> os::Result<()> {
    let volumes = NativeVolumes::new();
    let Err(error) = volumes.delete_mount_point(folder) else {
        return Ok(());
    };
    if may_name(&volumes.access_paths(volume), folder) {
        return Err(error);
    }
    tracing::warn!(%error, %volume, "the mount manager does not name the folder, which goes anyway");
    Ok(())
}

/// Whether the mount manager may know the folder as a path of the volume that has these.
fn may_name(paths: &os::Result<Vec<WinPath>>, folder: &WinPath) -> bool {
    match paths {
        Ok(paths) => paths.iter().any(|path| path.folded() == folder.folded()),
        Err(error) => !error.is_not_found(),
    }
}

/// The volume that is mounted at a folder, by its path.
fn mounted_volume(path: &Wide) -> Result<Option<VolumeId>, Win32> {
    if entry(path)?.tag != Some(ReparseTag::MOUNT_POINT) {
        return Ok(None);
    }
    volume_mounted_at(&handle::open(path, Purpose::LookAtEntry)?)
}

/// The volume that is mounted at a folder. A junction has the same tag and leads to another name than
/// a volume's.
pub(crate) fn volume_mounted_at(entry: &OwnedHandle) -> Result<Option<VolumeId>, Win32> {
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

/// Takes the reparse point from a mounted folder that names this volume, by one handle, so that no other is taken
/// than the one that was read. The input is the header of the point's data: its tag and a length of zero
/// ([MS-FSCC] 2.3.5).
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

/// Without the privilege to make links Windows allows them in developer mode when asked by a flag
/// that versions before 1703 refuse.
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

    /// What a search does not find, as its path ends in a backslash.
    #[test]
    fn a_root_is_looked_at_by_a_handle() {
        let root: WinPath = r"C:\".parse().expect("a root");
        let name = Wide::path(&root).expect("no NUL");
        let seen = root_itself(&name).expect("a drive");
        assert!(seen.is_directory());
        assert_eq!(Ok(seen), super::root(&name));
        assert!(Search::begin(&name, 0).is_err());
    }

    #[test]
    fn a_folder_of_a_volume_that_is_gone_may_go() {
        let folder = r"C:\wincsi-missing\mnt".parse().expect("a path");
        let gone = r"\\?\Volume{00000000-0000-0000-0000-000000000bad}\".parse();
        assert!(NativeVolumes::new().delete_mount_point(&folder).is_err());
        assert_eq!(forget(&folder, gone.expect("a volume")), Ok(()));
    }

    #[test]
    fn a_folder_is_named_in_any_case_and_with_a_backslash_at_its_end() {
        let path = |text: &str| text.parse::<WinPath>().expect("a path");
        let paths = Ok(vec![path(r"E:\"), path(r"C:\Data\Mnt\")]);
        assert!(may_name(&paths, &path(r"c:\data\mnt")));
        assert!(!may_name(&paths, &path(r"C:\Data\Mnt\f")));
        assert!(!may_name(&Ok(Vec::new()), &path(r"C:\Data\Mnt")));
    }

    /// A look that failed says nothing, unless it says that there is no such volume.
    #[test]
    fn a_folder_stays_while_it_is_not_known_whether_it_is_named() {
        let folder = r"C:\Data\Mnt".parse().expect("a path");
        let failed = |cause: Cause| Err(os::Error::new("look", "volume", cause));
        let odd = Cause::Malformed("an odd path".to_owned());
        for cause in [Win32::NOT_READY.into(), Win32::IO_DEVICE.into(), odd] {
            assert!(may_name(&failed(cause), &folder));
        }
        assert!(!may_name(&failed(Win32::FILE_NOT_FOUND.into()), &folder));
    }
}
