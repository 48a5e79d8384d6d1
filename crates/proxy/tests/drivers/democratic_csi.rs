//! democratic-csi through csi-proxy: SMB shares and iSCSI targets. It takes some failures for success,
//! by their texts.

use std::path::PathBuf;

use super::calls::{Answer, Api, Force, Pipes};
use super::fixture::NodeFixture;
use super::lives::Driver;

mod iscsi;
mod smb;

const NAME: &str = "democratic-csi";

/// The calls for volumes of both kinds.
struct Calls {
    pipes: Pipes,
}

impl Calls {
    fn start(fixture: &NodeFixture) -> Self {
        let pipes = Pipes::new(NAME, Api::V1, fixture);
        Self { pipes }
    }

    /// A path without a drive does not exist.
    fn path_exists(&self, path: &str) -> Answer<bool> {
        unless(
            self.pipes.path_exists(path),
            "not an absolute Windows path",
            false,
        )
    }

    /// Likewise.
    fn is_symlink(&self, path: &str) -> Answer<bool> {
        unless(
            self.pipes.is_symlink(path),
            "not an absolute Windows path",
            false,
        )
    }

    /// A missing folder counts as removed.
    fn rmdir(&self, path: &str) -> Answer<()> {
        let removed = self.pipes.rmdir(path, Force::No);
        unless(removed, "The system cannot find the file specified", ())
    }

    /// NodePublishVolume.
    fn publish(&self, staging: &str, target: &str) -> Answer<()> {
        if !self.path_exists(staging)? {
            return Err(self.pipes.failure("NodePublishVolume", "nothing is staged"));
        }
        if self.path_exists(target)? {
            if self.is_symlink(target)? {
                return Ok(());
            }
            self.rmdir(target)?;
        }
        self.pipes.create_symlink(staging, target)
    }

    /// NodeUnpublishVolume: anything but a link is a failed precondition.
    fn unpublish(&self, target: &str) -> Answer<()> {
        if !self.path_exists(target)? {
            return Ok(());
        }
        if !self.is_symlink(target)? {
            return Err(self.pipes.failure("NodeUnpublishVolume", "no link"));
        }
        self.rmdir(target)
    }
}

/// An answer, or the meaning of a failure with this text.
fn unless<T>(answer: Answer<T>, text: &str, otherwise: T) -> Answer<T> {
    match answer {
        Err(failure) if failure.text.contains(text) => Ok(otherwise),
        answer => answer,
    }
}
