use node::FilesystemError;
use os::Deadline;

use super::PipeOperations;
use crate::paths::PathRule;

/// Whether a removal takes one entry or everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// Everything below; a missing entry is success.
    Everything,
    /// The entry alone, which must exist and be empty.
    OneEntry,
}

impl Force {
    /// By the field `force`.
    pub(crate) fn of(force: bool) -> Self {
        if force {
            Self::Everything
        } else {
            Self::OneEntry
        }
    }
}

/// A path that breaks a rule, or a failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesystemFailure {
    #[error(transparent)]
    Operation(#[from] FilesystemError),
    #[error(transparent)]
    Rule(#[from] PathRule),
}

type Result<T> = std::result::Result<T, FilesystemFailure>;

impl PipeOperations {
    pub(crate) fn path_exists(&self, path: &str, deadline: Deadline) -> Result<bool> {
        let path = self.resolved_path(path)?;
        Ok(self
            .node
            .operations()
            .filesystem()
            .path_exists(&path, deadline)?)
    }

    pub(crate) fn mkdir(&self, path: &str, deadline: Deadline) -> Result<()> {
        let path = self.resolved_path(path)?;
        Ok(self
            .node
            .operations()
            .filesystem()
            .make_directory(&path, deadline)?)
    }

    pub(crate) fn rmdir(&self, path: &str, force: Force, deadline: Deadline) -> Result<()> {
        let path = self.way_to_removal(path)?;
        let filesystem = self.node.operations().filesystem();
        match force {
            Force::Everything => filesystem.remove_tree(&path, deadline)?,
            Force::OneEntry => filesystem.remove_entry(&path, deadline)?,
        }
        Ok(())
    }

    pub(crate) fn rmdir_contents(&self, path: &str, deadline: Deadline) -> Result<()> {
        let path = self.way_to_removal(path)?;
        Ok(self
            .node
            .operations()
            .filesystem()
            .remove_contents(&path, deadline)?)
    }

    /// The target (the link to create) is checked first, as in csi-proxy.
    pub(crate) fn link(&self, source: &str, target: &str, deadline: Deadline) -> Result<()> {
        let link = self.resolved_path(target)?;
        let existing = self.resolved_path(source)?;
        Ok(self
            .node
            .operations()
            .filesystem()
            .create_symlink(&existing, &link, deadline)?)
    }

    pub(crate) fn is_symlink(&self, path: &str, deadline: Deadline) -> Result<bool> {
        let path = self.lookup(path)?;
        Ok(self
            .node
            .operations()
            .filesystem()
            .is_symlink(&path, deadline)?)
    }
}
