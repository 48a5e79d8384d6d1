use node::api::{self, Condition};
use os::{Cause, Error, Win32};

/// Whether a case holds.
pub type CaseResult<T = ()> = Result<T, Failure>;

/// Why a case does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A call of the system that had to succeed failed.
    #[error(transparent)]
    Os(#[from] Error),
    /// An operation of the node that had to succeed failed.
    #[error(transparent)]
    Node(#[from] api::Error),
    /// A call that had to fail in one way ended in another.
    #[error("{step}: wanted {wanted:?}, got {}", ending(got))]
    Otherwise {
        /// The attempted step.
        step: &'static str,
        /// The expected code.
        wanted: Win32,
        /// How it ended; `None` is success.
        got: Option<Cause>,
    },
    /// The fixture lacks a part that the case needs.
    #[error("the fixture has no {0}")]
    Unequipped(&'static str),
    /// Something is not as it has to be.
    #[error("{0}")]
    Wrong(String),
}

impl Failure {
    /// A made-up name of a case or the machine does not parse.
    pub(crate) fn unexpected(what: impl std::fmt::Display) -> Self {
        Self::Wrong(what.to_string())
    }

    /// The failure without the names of the fixture's folders: the same in every run.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Os(error) => format!("{}: {}", error.operation, code(&error.cause)),
            Self::Otherwise { step, got, .. } => format!("{step}: {}", ending(got)),
            other => other.to_string(),
        }
    }
}

/// Passes when the call failed with this code.
pub(crate) fn refused<T>(step: &'static str, result: os::Result<T>, wanted: Win32) -> CaseResult {
    match result {
        Err(error) if error.win32() == Some(wanted) => Ok(()),
        other => Err(Failure::Otherwise {
            step,
            wanted,
            got: other.err().map(|error| error.cause),
        }),
    }
}

/// Passes when the node's operation failed for this reason.
pub(crate) fn refused_as<T>(
    step: &str,
    result: Result<T, api::Error>,
    wanted: Condition,
) -> CaseResult {
    let got = match result {
        Ok(_) => "success".to_owned(),
        Err(error) if error.condition() == Some(wanted) => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(Failure::Wrong(format!(
        "{step}: wanted {wanted:?}, got {got}"
    )))
}

/// Passes when it is so.
pub(crate) fn holds(statement: &str, is_so: bool) -> CaseResult {
    if is_so {
        return Ok(());
    }
    Err(Failure::Wrong(format!("not so: {statement}")))
}

/// Passes when both are equal.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, wanted: &T) -> CaseResult {
    if got == wanted {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{what}: wanted {wanted:?}, got {got:?}"
    )))
}

fn ending(cause: &Option<Cause>) -> String {
    cause.as_ref().map_or_else(|| "success".to_owned(), code)
}

fn code(cause: &Cause) -> String {
    match cause {
        Cause::Win32(code) => format!("{code:?}"),
        other => other.to_string(),
    }
}
