//! Mounted folders whose volume is gone.

use os::{Os, ReparseTag, VolumeId, Win32, WinPath};

use crate::link::{self, Leads};
use crate::resolved_path::canonical;

/// The volume of this mounted folder, if it is certainly gone. A folder may store any of a volume's names,
/// and the list has only one, so both the folder and the list are checked.
pub(crate) fn gone(os: &Os, folder: &WinPath) -> os::Result<Option<VolumeId>> {
    let entry = os.files.entry(folder)?;
    let stored = match link::leads(&*os.files, folder, &entry)? {
        Leads::ToVolume(stored) if entry.tag == Some(ReparseTag::MOUNT_POINT) => stored,
        _ => return Ok(None),
    };
    match os.volumes.mounted_at(folder) {
        Err(error) if error.is_not_found() => {
            let is_listed = os.volumes.list()?.contains(&stored);
            Ok((!is_listed).then_some(stored))
        }
        _ => Ok(None),
    }
}

/// Turns the mounted folder of this volume into a plain one.
///
/// Windows may fail to unmount a volume that is gone. Then the folder's reparse point is removed, unless the
/// mount manager may list the folder among the volume's paths: it would not learn of the removal, and keep the
/// path.
pub(super) fn unmount(os: &Os, folder: &WinPath, volume: VolumeId) -> os::Result<()> {
    let Err(error) = os.volumes.delete_mount_point(folder) else {
        return Ok(());
    };
    if may_name(os, volume, folder) {
        return Err(error);
    }
    tracing::warn!(path = %folder, %volume, %error, "taking the reparse point of a folder that the mount manager does not name");
    match os.volumes.delete_reparse_point(folder, volume) {
        // The failed call had done its work.
        Err(error) if error.win32() == Some(Win32::NOT_A_REPARSE_POINT) => Ok(()),
        done => done,
    }
}

/// Whether the mount manager may list the folder as a path of the volume: by this text, or by another path
/// that leads to the same place or cannot be followed.
fn may_name(os: &Os, volume: VolumeId, folder: &WinPath) -> bool {
    let paths = match os.volumes.access_paths(volume) {
        Ok(paths) => paths,
        Err(error) => return !error.is_not_found(),
    };
    let is_named = |path: &WinPath| path.folded() == folder.folded();
    paths.iter().any(is_named) || may_lead(os, &paths, folder)
}

/// Whether one of the paths may lead to the folder.
fn may_lead(os: &Os, paths: &[WinPath], folder: &WinPath) -> bool {
    // A drive is no folder.
    let mut folders = paths.iter().filter(|path| path.name().is_some()).peekable();
    if folders.peek().is_none() {
        return false;
    }
    let Ok(Some(place)) = canonical::of_entry(os, folder) else {
        return true;
    };
    folders.any(|path| match canonical::of_entry(os, path) {
        Ok(Some(other)) => other.folded() == place.folded(),
        Ok(None) | Err(_) => true,
    })
}
