use os::Win32;

use crate::Unfinished;

/// An operation on a service failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum ServiceError {
    /// Services that depend on it run.
    #[error(
        "failed to stop service {service}: services that depend on it are running: {}", .running.join(", ")
    )]
    Dependents {
        service: String,
        /// Those that have to be stopped before.
        running: Vec<String>,
    },
    /// It was started, and stopped again before it ran.
    #[error("failed to start service {service}: it stopped while it was starting")]
    DidNotStart { service: String },
    /// No service can have this name.
    #[error("service name {name:?} is not valid: {reason}")]
    Name { name: String, reason: &'static str },
    /// There is no such service. The text is csi-proxy's.
    #[error("failed to get service {service}. error: failed to query service {service}: not found")]
    NotFound { service: String },
    /// It does not run, and does not start either: somebody has paused it.
    #[error("failed to start service {service}: it is paused")]
    Paused { service: String },
    /// The service control manager does not say how the service is.
    #[error("failed to get service {service}. error: failed to query service {service}: {source}")]
    Query { service: String, source: os::Error },
    /// The service control manager refused.
    #[error("failed to {action} service {service}: {}", .source.cause)]
    Refused {
        /// `start` or `stop`.
        action: &'static str,
        service: String,
        source: os::Error,
    },
    /// It has not come to run in time. The text is csi-proxy's.
    #[error("timed out waiting for service {service} to become running")]
    StartTimedOut { service: String },
    /// It has not stopped in time. The text is csi-proxy's.
    #[error("timed out waiting for service {service} to stop")]
    StopTimedOut { service: String },
    /// Services that depend on it come up faster than they can be counted.
    #[error("failed to stop service {service}: what depends on it changes all the time")]
    Unsteady { service: String },
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

impl ServiceError {
    pub(super) fn query(service: &str) -> impl FnOnce(os::Error) -> Self {
        let service = service.to_owned();
        move |source| match source.win32() {
            Some(Win32::NO_SUCH_SERVICE) => Self::NotFound { service },
            _ => Self::Query { service, source },
        }
    }

    pub(super) fn refused(action: &'static str, service: &str, source: os::Error) -> Self {
        let service = service.to_owned();
        match source.win32() {
            Some(Win32::NO_SUCH_SERVICE) => Self::NotFound { service },
            _ => Self::Refused {
                action,
                service,
                source,
            },
        }
    }
}
