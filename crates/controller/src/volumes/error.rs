//! What can fail, and what callers do about it.

use smb::{Failure, Operation};

/// Why a volume was not made or deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another call works on it: of this process, or of another that holds the lock.
    #[error("{0}")]
    Busy(String),
    /// The name has a volume with another size, other parameters, or in another place.
    #[error("volume {name} exists already, with {difference}")]
    Exists {
        /// The volume's.
        name: String,
        /// What differs.
        difference: String,
    },
    /// The base folder is missing.
    #[error("the base folder is missing: {0}")]
    NoBase(#[source] smb::Error),
    /// The base folder lies in the folder of a volume.
    #[error("the base folder {base} lies in volume {volume}, whose record is in {records}")]
    BaseInVolume {
        /// Its path.
        base: String,
        /// The other volume's name.
        volume: String,
        /// Where its record is.
        records: String,
    },
    /// The base folder lies in `.wincsi` or in an archive.
    #[error("the base folder {0} lies in an archive or in the records of volumes")]
    ReservedBase(String),
    /// The folder to make is there, and has a `.wincsi`: it is a base folder, or has one that was copied.
    #[error("{0} holds records of volumes, so it can be no volume")]
    HoldsRecords(String),
    /// A record would be longer than any is read.
    #[error("{0}")]
    TooLong(String),
    /// A file, a link, an entry in use or a record that cannot be read is in the way, until someone changes that.
    #[error("{object}: {reason}")]
    Blocked {
        /// Its path.
        object: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The delete goes on after the deadline; a repeated call waits for it.
    #[error("deleting {0} takes longer than the call, and goes on")]
    GoesOn(String),
    /// An operation on the share failed, or the way to it.
    #[error(transparent)]
    Share(#[from] smb::Error),
}

/// The kinds of failures, each with an answer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Aborted.
    Busy,
    /// AlreadyExists.
    Exists,
    /// InvalidArgument: share or base folder missing, a base folder in a volume.
    Invalid,
    /// FailedPrecondition.
    Blocked,
    /// Unauthenticated.
    LogonRefused,
    /// PermissionDenied.
    Denied,
    /// ResourceExhausted.
    Full,
    /// DeadlineExceeded.
    TimedOut,
    /// Unavailable.
    Unavailable,
    /// Internal: an answer that has no row of its own.
    Other,
}

impl Error {
    /// Which answer it gets.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Busy(_) => Class::Busy,
            Self::Exists { .. } => Class::Exists,
            Self::NoBase(_)
            | Self::BaseInVolume { .. }
            | Self::ReservedBase(_)
            | Self::HoldsRecords(_)
            | Self::TooLong(_) => Class::Invalid,
            Self::Blocked { .. } => Class::Blocked,
            Self::GoesOn(_) => Class::TimedOut,
            Self::Share(error) => class(error),
        }
    }
}

fn class(error: &smb::Error) -> Class {
    match &error.failure {
        Failure::InUse if error.operation == Operation::Lock => Class::Busy,
        Failure::NoSuchShare | Failure::NotADisk => Class::Invalid,
        Failure::LogonRefused(_) | Failure::Guest | Failure::Anonymous => Class::LogonRefused,
        Failure::Denied => Class::Denied,
        Failure::Full => Class::Full,
        Failure::TimedOut => Class::TimedOut,
        Failure::NotFound
        | Failure::Exists
        | Failure::NotAFolder
        | Failure::IsAFolder
        | Failure::NotEmpty
        | Failure::InUse
        | Failure::DeletePending
        | Failure::Changed { .. }
        | Failure::Link
        | Failure::HiddenContent
        | Failure::Limit(_)
        | Failure::Name { .. } => Class::Blocked,
        // IO_TIMEOUT, NETWORK_BUSY, REQUEST_NOT_ACCEPTED, NO_LOGON_SERVERS, INSUFF_SERVER_RESOURCES
        Failure::Status(0xC000_00B5 | 0xC000_00BF | 0xC000_00D0 | 0xC000_005E | 0xC000_0205) => {
            Class::Unavailable
        }
        // MEDIA_WRITE_PROTECTED
        Failure::Status(0xC000_00A2) => Class::Denied,
        failure if failure.ends_connection() => Class::Unavailable,
        _ => Class::Other,
    }
}
