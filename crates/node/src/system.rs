//! Windows's information about the machine and its boot.

use os::{BootId, Deadline};

use crate::{System, Unfinished};

#[allow(missing_docs, reason = "documented in `api::System`")]
impl<'a> System<'a> {
    pub fn boot_id(&self, deadline: Deadline) -> Result<BootId, SystemError> {
        self.node.check(deadline, "read", &"the boot id")?;
        let id = self.node.os().boot.boot_id();
        id.map_err(|source| SystemError::BootId { source })
    }

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
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum SystemError {
    /// Which boot this is.
    #[error("failed to read the boot id: {source}")]
    BootId { source: os::Error },
    /// Reading the computer's name.
    #[error("failed to read the computer's name: {source}")]
    ComputerName { source: os::Error },
    /// It did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
