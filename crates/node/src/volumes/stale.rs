//! Mounted folders whose volume is gone.

use os::{Os, ReparseTag, VolumeId, WinPath};

use crate::link::{self, Leads};

/// The volume that the entry is a mounted folder of, if it is gone for certain. A folder may store any of a
/// volume's names, and the list has one of each, so that both folder and list are asked.
///
/// # Errors
/// There is no such entry, or the volumes cannot be listed.
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
