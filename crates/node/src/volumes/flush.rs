//! Flushing a volume before it is released, and Windows's lock of one that nobody uses.

use std::time::Duration;

use os::{Deadline, Os, VolumeId, VolumeLock, Win32};

use super::VolumeError;
use crate::{Node, poll};

/// How long a process may take to close its files on a volume: a virus scanner, an indexer, a process that
/// is just ending.
const UNUSED_WITHIN: Duration = Duration::from_secs(10);

/// Flushes a volume, unless it is read-only or gone.
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

/// The same for any volume of a disk: a volume without a filesystem has no cache, and may not support a
/// flush.
pub(crate) fn if_any(os: &Os, volume: VolumeId) -> Result<(), VolumeError> {
    match cached(os, volume) {
        Err(_) if matches!(os.volumes.file_system(volume), Ok(None)) => Ok(()),
        flushed => flushed,
    }
}

/// As the filesystem reports, or a disk.
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

/// Windows's lock of a volume, for which it waits while something on the volume is open. The lock has the same code if
/// this process may not open the volume; but then a flush before fails too.
pub(crate) fn lock_unused(
    node: &Node,
    volume: VolumeId,
    deadline: Deadline,
) -> Result<Box<dyn VolumeLock>, VolumeError> {
    let os = node.os();
    let locked = poll::until(&*os.clock, deadline, UNUSED_WITHIN, || {
        match os.volumes.lock(volume) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.win32() == Some(Win32::ACCESS_DENIED) => Ok(None),
            Err(error) => Err(VolumeError::failed("lock", volume)(error)),
        }
    })?;
    locked.ok_or(VolumeError::InUse { volume })
}
