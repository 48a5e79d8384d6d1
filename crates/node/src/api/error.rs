use std::fmt;

use os::{Hresult, SystemText, Win32};

use super::Feature;
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

/// The node's finding when it could not do what was requested: one for each case in which a driver acts
/// differently.
///
/// Each condition lists its codes: Win32's ([`Condition::WIN32`] has them all), those of the methods of
/// `MSFT_Disk`, `MSFT_Partition` and `MSFT_Volume` ([`os::schema::codes`]) from 40000 on, and the iSCSI
/// initiator's ([`os::schema::iscsi_codes`]) in hexadecimal. A code that no condition lists is
/// [`Condition::Other`]; [`Error::code`] has it all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// Windows denies access, or an iSCSI target does to this initiator (5, 40001, 0xEFFF000A).
    AccessDenied,
    /// The iSCSI target is connected already (0xEFFF0015, 0xEFFF0016, 0xEFFF003F).
    AlreadyConnected,
    /// Something else has the name (80, 183), or the portal is known already (0xEFFF0032).
    AlreadyExists,
    /// Several objects match where there must be one.
    Ambiguous,
    /// Another disk has the number of the one that was found, or the volume is not where it was found.
    Changed,
    /// Another user's credentials are in use for the same server (1219), or for the same share, and its server
    /// denies that user what is asked for. Once no volume of the other user is left, the share can be unmapped.
    CredentialsConflict,
    /// Another call holds the object for too long, too many calls run, or too many wait for the same object. The text
    /// has the call that holds it, and since when. A call of several steps may have been done in part.
    Crowded,
    /// A link on the way leads to something that does not exist.
    DanglingLink,
    /// The disk does not work or is no longer connected (433, 1117, 1167, 40004, 0xEFFF001D): a matter for
    /// the controller that attaches it.
    DeviceFailed,
    /// The disk is one that is never written, or Windows runs from it, or it is a cluster's (40018, 41009,
    /// 41018, 41019, 42010).
    Guarded,
    /// Somebody has it open or works on it (32, 170, storage's 6, 0xEFFF001F, 0xEFFF0040).
    InUse,
    /// The server does not accept the user's name or password (86, 1312, 1326), nor an iSCSI target the
    /// CHAP name or secret (0xEFFF0009, 0xEFFF0028), or the initiator knows that none would (0xEFFF0048,
    /// 0xEFFF004A to 0xEFFF004D).
    LogonFailure,
    /// The volume would have to grow beyond its disk, or there is not space enough on disk or volume (112,
    /// 40000, 41014).
    NoRoom,
    /// The path exists, and no volume is mounted there.
    NotAMountedFolder,
    /// The disk, the volume or what the path leads to does not answer: a call to it from before has not ended.
    /// What a call does in several steps may have been done in part.
    NotAnswering,
    /// The content that would be overwritten is not blank (41007, 41008).
    NotBlank,
    /// The directory is not empty (145).
    NotEmpty,
    /// The object itself does not exist: the path, disk, volume, service, portal, target or session (2, 3,
    /// 1060, 0xEFFF000B, 0xEFFF000C, 0xEFFF001C, 0xEFFF0029, 0xEFFF003C, 0xEFFF0043).
    NotFound,
    /// The share is not mapped (2250).
    NotMapped,
    /// The device, the target or a service of Windows is not ready or short of resources for now (21,
    /// storage's 3, 40002, 41015, 0xEFFF0013, 0xEFFF0014, 0xEFFF0038, 0xEFFF0039; WMI that is not reached), or
    /// what was done does not show yet: a volume, its filesystem, or the state of a service. Or a call that failed
    /// could not remove what it had made: the mapping of a share.
    NotReady,
    /// The disk is offline (41003): bring it online, and call again.
    Offline,
    /// The disk is online and writable, and a volume of it has an access path or is in use, so that it is not taken
    /// offline to be made read-only: unmount the volume, and call again.
    OnlineWritable,
    /// None of these.
    Other,
    /// The volume has another filesystem than it was to have.
    OtherFileSystem,
    /// The share is mapped already, without an option that was demanded. Once no volume is on it any more, it
    /// can be unmapped and mapped with the option.
    OtherOptions,
    /// The storage provider sees the disk as it was, not as the kernel sees it now (40003, 41000, 41001): have
    /// the disks looked at anew, and call again.
    OutOfDate,
    /// The root of the path cannot be reached, so nothing is known about the path itself.
    OutOfReach,
    /// The proxy does not let clients name this path.
    PathRefused,
    /// The disk or volume takes no writes (19, 41002, 43006).
    ReadOnly,
    /// The file server of a share that is mapped, or the network to it, is away now: the mapping stays, and
    /// works again when the server does.
    ServerAway,
    /// The file server is not found, or has no such share (53, 67); no connection with an iSCSI target comes
    /// about (0xEFFF0003, 0xEFFF0023, 0xEFFF0024).
    ServerNotFound,
    /// The service that is needed does not run (1062, 0xEFFF003E): start it, and call again.
    ServiceStopped,
    /// Another volume is mounted there (42002).
    TargetInUse,
    /// One that does not say enough of itself may be the one that is meant.
    Uncertain,
    /// The node's build of Windows has no such option.
    UnknownOption,
}

impl Condition {
    /// Whether the same call may succeed later without action by the driver: an object in use becomes free,
    /// a missing one becomes ready or reachable, and the provider sees the change. A driver still returns
    /// an error when its time is up, and is called again.
    ///
    /// Conditions that need another action first ([`Condition::Offline`], [`Condition::ServiceStopped`],
    /// [`Condition::Changed`]) are not among them.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Crowded
                | Self::InUse
                | Self::NotAnswering
                | Self::NotReady
                | Self::OutOfDate
                | Self::ServerAway
                | Self::ServerNotFound
                | Self::Uncertain
        )
    }
}
