use super::{Command, Status};

/// Only Windows has services.
#[derive(Debug, thiserror::Error)]
#[error("there is no service control manager on this system")]
pub(super) struct NoManager;

pub(super) fn perform(_command: &Command) -> Result<Status, NoManager> {
    Err(NoManager)
}
