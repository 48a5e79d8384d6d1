use std::fmt;

use os::Hresult;
use os::SystemText;
use os::Win32;

use crate::NotIdentified;

/// The result of an operation on a node.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed: what was attempted, on what, and why it failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation} {object}: {cause}")]
#[non_exhaustive]
pub struct Error {
    /// What was attempted, `mount` say.
    pub operation: &'static str,
    /// On what: a path, a volume id, a disk number.
    pub object: String,
    /// Why it failed.
    pub cause: Cause,
}

impl Error {
    /// An error of `operation` on `object`.
    pub fn new(
        operation: &'static str,
        object: impl fmt::Display,
        cause: impl Into<Cause>,
    ) -> Self {
        Self {
            operation,
            object: object.to_string(),
            cause: cause.into(),
        }
    }

    /// What the node found, when the operation reached it and failed there.
    #[must_use]
    pub fn condition(&self) -> Option<Condition> {
        match self.cause {
            Cause::Failed { condition, .. } => Some(condition),
            Cause::NotIdentified(ref error) => Some(Condition::of_look_up(error)),
            _ => None,
        }
    }

    /// The code by which the system refused, where the node is in this process and one was what failed.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self.cause {
            Cause::Failed { code, .. } => code,
            _ => None,
        }
    }

    /// What the system says of the failure, in the language of the node: for people, where the node is in
    /// this process and the system says more than its code. Over pipes it is in the proxy's log alone.
    #[must_use]
    pub fn system_text(&self) -> Option<&str> {
        match &self.cause {
            Cause::Failed { said, .. } => said.as_ref().map(SystemText::as_str),
            _ => None,
        }
    }
}

/// Why an operation failed. Only [`Cause::Deadline`] and [`Cause::Lost`] leave open whether it took
/// effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// It did not end before its deadline. It may go on, and still take effect.
    #[error("did not end before its deadline")]
    Deadline,
    /// The node tried and failed, or refused for the object's sake.
    #[error("{text}")]
    Failed {
        /// What the node found.
        condition: Condition,
        /// What it says, for people: in English on every node.
        text: String,
        /// The code by which the system refused, where it is known.
        code: Option<Code>,
        /// What the system says, in its own language. It is not in the text.
        said: Option<SystemText>,
    },
    /// What was asked for cannot be said to this node: a size beyond what its protocol carries, a
    /// path that is no Unicode. Nothing was sent.
    #[error("{0}")]
    Inexpressible(String),
    /// The connection broke after the call was sent: the proxy may have done all, a part or nothing.
    #[error("the connection broke before the answer came: {reason}")]
    Lost {
        /// How.
        reason: String,
    },
    /// The answer came, and cannot be what the protocol says.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// The proxy serves the group, but in no version that has this operation.
    #[error("needs {group}/{needed}, the proxy has {group}/{found}")]
    NeedsVersion {
        /// The group.
        group: &'static str,
        /// The oldest version with this operation.
        needed: String,
        /// The newest version that the proxy has.
        found: String,
    },
    /// Not exactly one disk is what was looked for.
    #[error(transparent)]
    NotIdentified(Box<NotIdentified>),
    /// Whoever runs the node does not want it done: a policy, not the state of the object.
    #[error("refused: {text}")]
    Refused {
        /// What the node says, for people.
        text: String,
    },
    /// The node says that it does not have the operation.
    #[error("not implemented: {text}")]
    Unimplemented {
        /// What it says, for people.
        text: String,
    },
    /// The proxy was not reached: it has not seen the call.
    #[error("{endpoint}: {reason}")]
    Unreachable {
        /// The pipe or socket.
        endpoint: String,
        /// Why.
        reason: Unreachable,
    },
}

impl Cause {
    /// A failure on the node.
    pub fn failed(condition: Condition, text: impl fmt::Display) -> Self {
        Self::Failed {
            condition,
            text: text.to_string(),
            code: None,
            said: None,
        }
    }
}

/// A code by which the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// COM's or WMI's.
    Hresult(Hresult),
    /// The return value of a provider's method, as [`os::schema`] lists them.
    Returned(u32),
    /// Win32's.
    Win32(Win32),
}

/// Why a proxy is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreachable {
    /// The caller may not open the pipe: it takes an administrator.
    #[error("access is denied")]
    AccessDenied,
    /// The pipe exists, but none of its instances became free in time.
    #[error("busy")]
    Busy,
    /// There is no such pipe: the proxy does not run, or has no version of the group.
    #[error("nobody serves it")]
    NoPipe,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// What a node found when it could not do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// Windows denies access.
    AccessDenied,
    /// The iSCSI target is connected already.
    AlreadyConnected,
    /// Something else has the name.
    AlreadyExists,
    /// Several objects match where there must be one.
    Ambiguous,
    /// Another disk has the number of the one that was found, or the volume is not where it was found.
    Changed,
    /// Another user's credentials are in use for the same server (Windows error 1219).
    CredentialsConflict,
    /// A link on the way leads to something that does not exist.
    DanglingLink,
    /// The disk is one that is never written.
    Guarded,
    /// The server does not accept the user's name or password.
    LogonFailure,
    /// The volume would have to grow beyond its disk.
    NoRoom,
    /// The path exists, and no volume is mounted there.
    NotAMountedFolder,
    /// The disk or volume does not answer: a call to it from before has not ended. Nothing was done.
    NotAnswering,
    /// What would be overwritten is not blank.
    NotBlank,
    /// The directory is not empty.
    NotEmpty,
    /// The object itself does not exist: the path, disk, volume, service, portal or target.
    NotFound,
    /// The share is not mapped.
    NotMapped,
    /// The volume is as large already as this growth would make it, within Windows's least growth.
    NothingToGrow,
    /// None of these.
    Other,
    /// The volume has another filesystem than it was to have.
    OtherFileSystem,
    /// The share is mapped already, without an option that was demanded.
    OtherOptions,
    /// What the path hangs on cannot be reached, so nothing is known of the path itself.
    OutOfReach,
    /// The proxy does not let clients name this path.
    PathRefused,
    /// The file server is not found, or has no such share.
    ServerNotFound,
    /// Another volume is mounted there.
    TargetInUse,
    /// One that does not say enough of itself may be the one that is meant.
    Uncertain,
    /// The node's build of Windows has no such option.
    UnknownOption,
}
