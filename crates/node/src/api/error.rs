use std::fmt;

use os::{Hresult, SystemText, Win32};

use super::{Condition, Feature};
use crate::NotIdentified;

/// The result of an operation on a node.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed: what was attempted, on what, and why it failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation} {object}: {cause}")]
#[non_exhaustive]
pub struct Error {
    /// The operation, for example `mount`.
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

    /// The node's finding, if the operation reached it and failed there.
    #[must_use]
    pub fn condition(&self) -> Option<Condition> {
        match self.cause {
            Cause::Failed { condition, .. } => Some(condition),
            Cause::NotIdentified(ref error) => Some(Condition::of_look_up(error)),
            _ => None,
        }
    }

    /// Whether the node found this.
    #[must_use]
    pub fn is(&self, condition: Condition) -> bool {
        self.condition() == Some(condition)
    }

    /// Whether the same call may come through later though the driver does nothing about it: the condition is
    /// one of those ([`Condition::is_transient`]), the connection broke, or no proxy answered. A deadline that is
    /// over is none: no call by it comes through.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match &self.cause {
            Cause::Lost { .. } => true,
            Cause::Unreachable { reason, .. } => {
                matches!(reason, Unreachable::Busy | Unreachable::NoPipe)
            }
            _ => self.condition().is_some_and(Condition::is_transient),
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

    /// The system's text for the failure, in the language of the node: for people, if the node is in this
    /// process and the text has more than the code. Over pipes only the proxy's log has it.
    #[must_use]
    pub fn system_text(&self) -> Option<&str> {
        match &self.cause {
            Cause::Failed { system_text, .. } => system_text.as_ref().map(SystemText::as_str),
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
        /// The node's finding.
        condition: Condition,
        /// The node's text, for people: in English on every node.
        text: String,
        /// The code by which the system refused, where it is known.
        code: Option<Code>,
        /// The system's text, in its own language. The node's text does not contain it.
        system_text: Option<SystemText>,
    },
    /// A value that the node cannot be given: a size beyond what its protocol carries, a path that is no
    /// Unicode. Nothing was sent.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// The connection broke after the call was sent: the proxy may have done all, a part or nothing.
    #[error("the connection broke before the answer came: {reason}")]
    Lost {
        /// How.
        reason: String,
    },
    /// The answer came, and cannot be what the protocol says.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// Not exactly one disk is what was looked for.
    #[error(transparent)]
    NotIdentified(Box<NotIdentified>),
    /// The operator of the node forbids it: a policy, not the state of the object.
    #[error("refused: {text}")]
    Refused {
        /// The node's text, for people.
        text: String,
    },
    /// The node says that it does not have the operation.
    #[error("not implemented: {text}")]
    Unimplemented {
        /// The node's text, for people.
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
    /// This backend cannot do it. Nothing was sent.
    #[error("{operation} needs {needs}")]
    Unsupported {
        /// The unsupported operation, or the unsupported part of it.
        operation: String,
        /// The backend that supports it.
        needs: Needs,
    },
}

impl Cause {
    /// A failure on the node.
    pub fn failed(condition: Condition, text: impl fmt::Display) -> Self {
        Self::Failed {
            condition,
            text: text.to_string(),
            code: None,
            system_text: None,
        }
    }
}

/// The requirement of an operation that this backend lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Needs {
    /// A node that supports it ([`NodeApi::supports`](super::NodeApi::supports)): csi-proxy's protocol, in all
    /// versions, does not carry it.
    #[error("the feature {0}, which csi-proxy's protocol does not have")]
    Feature(Feature),
    /// A newer proxy: this one serves the group, but in no version that has the operation.
    #[error("{group}/{needed}, the proxy has {group}/{found}")]
    Version {
        /// The group.
        group: &'static str,
        /// The oldest version with this operation.
        needed: String,
        /// The newest version that the proxy has.
        found: String,
    },
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
    /// The pipe belongs to an account that no proxy is expected to run as, which this names: another process may
    /// have taken its name. Nothing was sent.
    #[error("it belongs to {0}, who is not trusted to serve it")]
    ForeignOwner(String),
    /// There is no such pipe: the proxy does not run, or has no version of the group.
    #[error("nobody serves it")]
    NoPipe,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}
