//! Writing what is cached before a volume is let go.

use os::{Os, VolumeId, Win32};

use super::VolumeError;

/// Writes what is cached, unless there is nothing to write to any more.
pub(crate) fn cached(os: &Os, volume: VolumeId) -> Result<(), VolumeError> {
    let Err(error) = os.volumes.flush(volume) else {
        return Ok(());
    };
    if error.win32() == Some(Win32::WRITE_PROTECT) && is_read_only(os, volume) {
        return Ok(());
    }
    let present = os.volumes.list();
    if present
        .map_err(VolumeError::failed("look for", volume))?
        .contains(&volume)
    {
        return Err(VolumeError::failed("flush", volume)(error));
    }
    tracing::warn!(%volume, %error, "letting go a volume that is gone");
    Ok(())
}

/// The same for any volume of a disk: one without a filesystem has nothing cached, and need not know how to
/// flush.
pub(crate) fn if_any(os: &Os, volume: VolumeId) -> Result<(), VolumeError> {
    match cached(os, volume) {
        Err(_) if matches!(os.volumes.file_system(volume), Ok(None)) => Ok(()),
        flushed => flushed,
    }
}

/// By the filesystem's word, or that of a disk.
fn is_read_only(os: &Os, volume: VolumeId) -> bool {
    let file_system = os.volumes.file_system(volume);
    if matches!(file_system, Ok(Some(found)) if found.read_only) {
        return true;
    }
    let disks = super::disks_of(os, volume).unwrap_or_default();
    disks.into_iter().any(|disk| {
        let attributes = os.disks.attributes(disk);
        attributes.is_ok_and(|attributes| attributes.read_only)
    })
}
