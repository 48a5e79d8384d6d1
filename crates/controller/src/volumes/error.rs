//! What can fail, and which answer a caller gets.

use smb::{Failure, Operation};
use transport::Code;

/// Why a volume was not made or deleted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another call works on it: of this process, or of another that holds the lock.
    #[error("{0}")]
    Busy(String),
    /// The name has a volume with another size, other parameters, or in another place.
    #[error("{0}")]
    Exists(String),
    /// No volume can be made, or have been made, there.
    #[error("{0}")]
    Invalid(String),
    /// A file, a link, an entry in use or a record that cannot be read is in the way, until someone changes that.
    #[error("{0}")]
    Blocked(String),
    /// There is no volume to clone: not any more, or not yet.
    #[error("{0}")]
    NotFound(String),
    /// The share has too little space for a clone.
    #[error("{0}")]
    Full(String),
    /// What it names goes on after the deadline; a repeated call waits for it.
    #[error("{0} takes longer than the call, and goes on")]
    GoesOn(String),
    #[error(transparent)]
    Share(#[from] smb::Error),
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::Busy(_) => Code::Aborted,
            Self::Exists(_) => Code::AlreadyExists,
            Self::Invalid(_) => Code::InvalidArgument,
            Self::Blocked(_) => Code::FailedPrecondition,
            Self::NotFound(_) => Code::NotFound,
            Self::Full(_) => Code::ResourceExhausted,
            Self::GoesOn(_) => Code::DeadlineExceeded,
            Self::Share(error) => code(error),
        }
    }
}

impl Error {
    /// Whether a repeated call may go on where this one failed.
    pub(super) fn may_pass(&self) -> bool {
        use Code::{Aborted, DeadlineExceeded, Internal, Unauthenticated, Unavailable};
        let is_busy = matches!(self, Self::Share(error)
            if matches!(error.failure, Failure::InUse | Failure::Unsteady));
        is_busy
            || [
                Aborted,
                DeadlineExceeded,
                Internal,
                Unauthenticated,
                Unavailable,
            ]
            .contains(&self.code())
    }
}

fn code(error: &smb::Error) -> Code {
    match &error.failure {
        Failure::InUse if error.operation == Operation::Lock => Code::Aborted,
        Failure::NoSuchShare | Failure::NotADisk => Code::InvalidArgument,
        Failure::LogonRefused(_) | Failure::Guest | Failure::Anonymous => Code::Unauthenticated,
        // The number is MEDIA_WRITE_PROTECTED.
        Failure::Denied | Failure::Status(0xC000_00A2) => Code::PermissionDenied,
        Failure::Full => Code::ResourceExhausted,
        Failure::TimedOut => Code::DeadlineExceeded,
        // IO_TIMEOUT, NETWORK_BUSY, REQUEST_NOT_ACCEPTED, NO_LOGON_SERVERS, INSUFF_SERVER_RESOURCES
        Failure::Status(0xC000_00B5 | 0xC000_00BF | 0xC000_00D0 | 0xC000_005E | 0xC000_0205) => {
            Code::Unavailable
        }
        Failure::Status(_) => Code::Internal,
        failure if failure.ends_connection() => Code::Unavailable,
        // What is on the share is in the way.
        _ => Code::FailedPrecondition,
    }
}
