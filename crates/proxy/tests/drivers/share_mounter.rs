//! Common to csi-driver-smb, azurefile and azuredisk: how they check a mount point and prepare a
//! path for a link.

use os::Win32;

use super::calls::{Answer, Force, Pipes, StepFailure};
use super::fixture::NodeFixture;

/// The errors of a local look at a dead share, by which the drivers recognise it.
const CORRUPTED: [u32; 10] = [53, 54, 59, 64, 65, 66, 67, 1219, 1326, 10064];

pub(crate) struct Mounter<'a> {
    pub(crate) fixture: &'a NodeFixture,
    pub(crate) pipes: &'a Pipes,
}

/// Whether something is mounted at a path and can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Mounted,
    Nothing,
}

impl Mounter<'_> {
    /// `ensureMountPoint`: an unreadable link is unmounted, that is, removed. If nothing is
    /// mounted, there is a directory afterwards, or the entry in its way.
    pub(crate) fn ensure_mount_point(&self, path: &str) -> Answer<Found> {
        if self.is_link(path)? {
            if self.fixture.read_directory(path).is_ok() {
                return Ok(Found::Mounted);
            }
            self.pipes.rmdir(path, Force::Yes)?;
        }
        self.fixture.make_directories(path);
        Ok(Found::Nothing)
    }

    /// `prepareStagePath` and `preparePublishPath`.
    pub(crate) fn clear(&self, path: &str) -> Answer<()> {
        if self.pipes.path_exists(path)? {
            self.pipes.rmdir(path, Force::Yes)?;
        }
        Ok(())
    }

    /// NodePublishVolume of csi-driver-smb and azurefile.
    pub(crate) fn publish(&self, staging: &str, target: &str) -> Answer<()> {
        if self.ensure_mount_point(target)? == Found::Mounted {
            return Ok(());
        }
        self.clear(target)?;
        self.pipes.create_symlink(staging, target)
    }

    /// `IsLikelyNotMountPoint`, turned round.
    fn is_link(&self, path: &str) -> Answer<bool> {
        if !self.pipes.path_exists(path)? {
            return Ok(false);
        }
        match self.pipes.is_symlink(path) {
            Err(failure) => self.is_corrupted(path, failure),
            answer => answer,
        }
    }

    fn is_corrupted(&self, path: &str, failure: StepFailure) -> Answer<bool> {
        let look = self.fixture.read_directory(path);
        let code = look.err().and_then(|error| error.win32());
        match code {
            Some(Win32(code)) if CORRUPTED.contains(&code) => Ok(true),
            _ => Err(failure),
        }
    }
}
