use os::{Cause, Error, Win32};

/// Why a case does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteFailure {
    /// A call that had to succeed failed.
    #[error(transparent)]
    Failed(#[from] Error),
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

impl SuiteFailure {
    /// The failure without the names of the fixture's folders: the same in every run.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Failed(error) => format!("{}: {}", error.operation, code(&error.cause)),
            Self::Otherwise { step, got, .. } => format!("{step}: {}", ending(got)),
            other => other.to_string(),
        }
    }
}

/// Passes when the call failed with this code.
pub(crate) fn refused<T>(
    step: &'static str,
    result: os::Result<T>,
    wanted: Win32,
) -> Result<(), SuiteFailure> {
    match result {
        Err(error) if error.win32() == Some(wanted) => Ok(()),
        other => Err(SuiteFailure::Otherwise {
            step,
            wanted,
            got: other.err().map(|error| error.cause),
        }),
    }
}

/// Passes when it is so.
pub(crate) fn holds(statement: &str, is_so: bool) -> Result<(), SuiteFailure> {
    if is_so {
        return Ok(());
    }
    Err(SuiteFailure::Wrong(format!("not so: {statement}")))
}

/// Passes when both are equal.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &T,
    wanted: &T,
) -> Result<(), SuiteFailure> {
    if got == wanted {
        return Ok(());
    }
    let text = format!("{what}: wanted {wanted:?}, got {got:?}");
    Err(SuiteFailure::Wrong(text))
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
