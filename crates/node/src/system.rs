//! Windows's information about the machine and its boot.

use os::{BootId, Deadline};

use crate::{Node, Unfinished};

/// The questions to the system of a [`Node`].
pub struct System<'a> {
    node: &'a Node,
}

impl<'a> System<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// An id of this boot. Disk numbers, and connections of mappings, end with a boot, so a record with another id
    /// is from an earlier one.
    ///
    /// The id is the same for every process, and survives a hibernation. On Windows it is the time at which one of
    /// our processes first called this after the boot, kept in a volatile registry key.
    ///
    /// # Errors
    /// Windows refuses: the caller must be an administrator.
    pub fn boot_id(&self, deadline: Deadline) -> Result<BootId, SystemError> {
        self.node.check(deadline, "read", &"the boot id")?;
        let id = self.node.os().boot.boot_id();
        id.map_err(|source| SystemError::BootId { source })
    }

    /// The machine's DNS host name in lower case, without its domain: the name that kubelet gives its node unless it
    /// is told another (`k8s.io/component-helpers`, `node/util.GetHostname`, over Go's `os.Hostname`).
    ///
    /// # Errors
    /// Windows does not say.
    pub fn computer_name(&self, deadline: Deadline) -> Result<String, SystemError> {
        self.node.check(deadline, "read", &"the computer's name")?;
        let name = self.node.os().boot.computer_name();
        let name = name.map_err(|source| SystemError::ComputerName { source })?;
        Ok(name.trim().to_lowercase())
    }
}

/// The system does not say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// Which boot this is.
    #[error("failed to read the boot id: {source}")]
    BootId {
        /// Why.
        source: os::Error,
    },
    /// Reading the computer's name.
    #[error("failed to read the computer's name: {source}")]
    ComputerName {
        /// Why.
        source: os::Error,
    },
    /// It did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
