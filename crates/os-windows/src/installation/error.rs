use std::time::Duration;

use super::{Ending, RunState};

/// Why something could not be done to a service.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// There is no such service.
    #[error("service {0} is not installed")]
    Absent(String),
    /// The system refused.
    #[error("{operation} service {name}: {}", cause(source))]
    Call {
        /// The attempted operation.
        operation: &'static str,
        /// The service.
        name: String,
        /// The system's error.
        source: windows_service::Error,
    },
    /// The service ended while it was being started.
    #[error("service {name} ended while it was being started, with {ending}")]
    Ended {
        /// The service.
        name: String,
        ending: Ending,
    },
    /// The service did not come to where it was to be.
    #[error("service {name} is still {state} after {} s", patience.as_secs())]
    Late {
        /// The service.
        name: String,
        /// Its state.
        state: RunState,
        /// How long was waited.
        patience: Duration,
    },
}

impl InstallationError {
    /// Makes an error from the system's error of this operation on this service.
    pub(super) fn call(
        operation: &'static str,
        name: &str,
    ) -> impl FnOnce(windows_service::Error) -> Self {
        move |source| Self::Call {
            operation,
            name: name.to_owned(),
            source,
        }
    }
}

/// The system's code in an error.
pub(super) fn code(error: &windows_service::Error) -> Option<i32> {
    match error {
        windows_service::Error::Winapi(source) => source.raw_os_error(),
        _ => None,
    }
}

/// The system's own text, kept in the source of the crate's error.
pub(crate) fn cause(error: &windows_service::Error) -> String {
    match error {
        windows_service::Error::Winapi(source) => source.to_string(),
        other => other.to_string(),
    }
}
