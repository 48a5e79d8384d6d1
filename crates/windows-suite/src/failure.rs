use node::api::{Condition, Error};

/// Why a case of the suite's own does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseFailure {
    /// An operation of the node failed.
    #[error(transparent)]
    Node(#[from] Error),
    /// A call of the system failed.
    #[error(transparent)]
    Os(#[from] os::Error),
    /// The fixture lacks a part that the case needs.
    #[error("this machine has no {0}")]
    Unequipped(&'static str),
    /// Something is not as it has to be.
    #[error("{0}")]
    Wrong(String),
}

impl CaseFailure {
    /// A made-up name of a case or the machine does not parse.
    pub(crate) fn unexpected(what: impl std::fmt::Display) -> Self {
        Self::Wrong(what.to_string())
    }
}

/// Passes when it is so.
pub(crate) fn holds(statement: &str, is_so: bool) -> Result<(), CaseFailure> {
    if is_so {
        return Ok(());
    }
    Err(CaseFailure::Wrong(format!("not so: {statement}")))
}

/// Passes when both are equal.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &T,
    wanted: &T,
) -> Result<(), CaseFailure> {
    if got == wanted {
        return Ok(());
    }
    Err(CaseFailure::Wrong(format!(
        "{what}: wanted {wanted:?}, got {got:?}"
    )))
}

/// Passes when the operation failed for this reason.
pub(crate) fn refused<T>(
    step: &str,
    result: Result<T, Error>,
    wanted: Condition,
) -> Result<(), CaseFailure> {
    let got = match result {
        Ok(_) => "success".to_owned(),
        Err(error) if error.condition() == Some(wanted) => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(CaseFailure::Wrong(format!(
        "{step}: wanted {wanted:?}, got {got}"
    )))
}
