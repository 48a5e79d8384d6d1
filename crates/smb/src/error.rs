//! What can fail, of which operation, at which object. Names of servers, shares and files are in it, secrets never.

use crate::name::NameError;
use crate::share::FileId;

pub type Result<T> = std::result::Result<T, Error>;

/// The result of a step, whose operation and object its caller knows.
pub(crate) type Outcome<T> = std::result::Result<T, Failure>;

#[derive(Debug, thiserror::Error)]
#[error("{operation} {object}: {failure}")]
pub struct Error {
    pub operation: Operation,
    /// On what: `\\server\share\path`, or server and port.
    pub object: String,
    pub failure: Failure,
}

/// What was tried: steps to a share, and the operations of [`Share`](crate::Share).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Operation {
    #[error("connect to")]
    Connect,
    #[error("negotiate with")]
    Negotiate,
    #[error("log on to")]
    LogOn,
    #[error("open share")]
    OpenShare,
    #[error("stat")]
    Stat,
    #[error("list")]
    List,
    #[error("make folder")]
    MakeFolder,
    #[error("create")]
    Create,
    #[error("read")]
    Read,
    #[error("rename")]
    Rename,
    #[error("remove")]
    Remove,
    #[error("lock")]
    Lock,
    #[error("close")]
    Close,
    #[error("find the free space of")]
    Space,
    #[error("copy")]
    Copy,
}

/// Why an operation failed: where the text says all of it, nothing else does.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    // The server's answers: the connection goes on.
    #[error("not found")]
    NotFound,
    #[error("exists already")]
    Exists,
    /// A part of the path, or the object, is no folder.
    #[error("not a folder")]
    NotAFolder,
    #[error("is a folder")]
    IsAFolder,
    #[error("the folder is not empty")]
    NotEmpty,
    #[error("is in use")]
    InUse,
    /// The object is gone once its last handle is closed.
    #[error("is being deleted")]
    DeletePending,
    #[error("access denied")]
    Denied,
    #[error("no space is left")]
    Full,
    #[error("the server refuses user or password (0x{0:08X})")]
    LogonRefused(u32),
    #[error("no such share")]
    NoSuchShare,
    /// Any other status of the server, by its number in MS-ERREF.
    #[error("the server answers status 0x{0:08X}")]
    Status(u32),

    // What the client found: the connection goes on.
    /// The path leads to another object than the caller expects.
    #[error("has the id {:#x}, not {:#x}", .found.0, .expected.0)]
    Changed { expected: FileId, found: FileId },
    #[error("is a link, or lies behind one")]
    Link,
    #[error("the folder is not empty, and the server lists nothing in it")]
    HiddenContent,
    #[error("has more than the limit of {0}")]
    Limit(u64),
    #[error("holds the name {name}: {error}")]
    Name {
        /// Escaped.
        name: String,
        error: NameError,
    },
    /// The server may take two names of a folder for one.
    #[error("holds the names {first} and {second}, which the server may take for one")]
    SameName {
        /// Escaped, as `second`.
        first: String,
        second: String,
    },
    #[error("changes while it is copied")]
    Unsteady,
    /// The caller of a copy ended it.
    #[error("was stopped")]
    Stopped,

    // The connection, which has ended then.
    #[error("cannot be reached ({0})")]
    Unreachable(String),
    #[error("no answer before the deadline")]
    TimedOut,
    #[error("the connection was lost ({0})")]
    Lost(String),
    #[error("an earlier failure ended the connection")]
    Ended,
    #[error("the server sends a malformed {0}")]
    Malformed(&'static str),
    /// An answer with a wrong signature, or with none, or in the clear.
    #[error("the server's answer is not protected: {0}")]
    Unprotected(&'static str),
    #[error("the server does not speak SMB 3.1.1 ({0})")]
    Dialect(String),
    #[error("the server takes the user for a guest")]
    Guest,
    #[error("the server takes the user for an anonymous one")]
    Anonymous,
    #[error("the server offers no encryption with AES-GCM")]
    NoEncryption,
    #[error("the server offers no NTLMv2 with 128 bits")]
    WeakLogon,
    /// The share is a printer or a pipe.
    #[error("the share holds no files")]
    NotADisk,
    #[error("the system has no random numbers")]
    NoRandom,
}

impl Failure {
    /// Whether the connection is of no use after it.
    pub fn ends_connection(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::TimedOut
                | Self::Lost(_)
                | Self::Ended
                | Self::Malformed(_)
                | Self::Unprotected(_)
                | Self::Dialect(_)
                | Self::Guest
                | Self::Anonymous
                | Self::NoEncryption
                | Self::WeakLogon
                | Self::NotADisk
                | Self::NoRandom
        )
    }

    pub(crate) fn at(self, operation: Operation, object: impl Into<String>) -> Error {
        Error {
            operation,
            object: object.into(),
            failure: self,
        }
    }
}
