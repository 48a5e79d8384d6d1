//! Windows's information about the machine and its boot.

use os::schema::process::{CLASS, COMMAND_LINE, NAME};
use os::{BootId, Deadline, Query, Value};

use crate::{System, Unfinished};

#[allow(missing_docs, reason = "documented in `api::System`")]
impl<'a> System<'a> {
    pub fn boot_id(&self, deadline: Deadline) -> Result<BootId, SystemError> {
        self.node.check(deadline, "read", &"the boot id")?;
        let id = self.node.os().boot.boot_id();
        id.map_err(|source| SystemError::BootId { source })
    }

    pub fn command_lines(
        &self,
        program: &str,
        deadline: Deadline,
    ) -> Result<Vec<Option<String>>, SystemError> {
        self.node
            .check(deadline, "read the command lines of", &program)?;
        let query = Query::all(CLASS.name, &[COMMAND_LINE.name]);
        let query = query.with(NAME.name, Value::text(program));
        let rows = self.node.os().processes.query(&query, deadline);
        let command =
            |row: os::Instance| Ok(row.text_or_null(COMMAND_LINE.name)?.map(str::to_owned));
        rows.and_then(|rows| rows.into_iter().map(command).collect())
            .map_err(|source| SystemError::CommandLines { source })
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
    /// How the processes of a program were started.
    #[error("failed to read command lines: {source}")]
    CommandLines { source: os::Error },
    /// Reading the computer's name.
    #[error("failed to read the computer's name: {source}")]
    ComputerName { source: os::Error },
    /// It did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
