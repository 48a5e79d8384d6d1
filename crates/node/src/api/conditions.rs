//! The node's own errors as causes that a driver branches on.

use std::error::Error;

use os::SystemText;
use os::schema::smb_global_mapping;

use super::{Cause, Code, Condition};
use crate::provider::returned_win32;
use crate::{
    BlankError, DiskError, FilesystemError, FirmwareError, IscsiError, NotIdentified,
    PagingUnknown, ProviderError, ResolveError, ServiceError, SmbError, SystemError, TargetError,
    Unfinished, Unread, VisibilityError, VolumeError,
};

/// The node's finding, and the code from which it is; `None` if the operation did not end before its deadline.
type Finding = Option<(Condition, Option<Code>)>;

/// An error of the node: each is a cause with the condition of its variant and its own text.
trait Classified: Error + Sized + 'static {
    fn finding(&self) -> Finding;

    fn cause(self) -> Cause {
        failed(self)
    }
}

fn failed(error: impl Classified) -> Cause {
    match error.finding() {
        Some((condition, code)) => Cause::Failed {
            condition,
            text: error.to_string(),
            code,
            system_text: SystemText::of(&error).cloned(),
        },
        None => Cause::Deadline,
    }
}

impl<E: Classified> From<E> for Cause {
    fn from(error: E) -> Self {
        error.cause()
    }
}

macro_rules! conditions {
    ($($error:ty),+) => {
        $(impl $error {
            /// The node's finding; `None` if the operation did not end before its deadline.
            #[must_use]
            pub fn condition(&self) -> Option<Condition> {
                self.finding().map(|(condition, _)| condition)
            }
        })+
    };
}

conditions!(
    DiskError,
    FilesystemError,
    FirmwareError,
    IscsiError,
    ServiceError,
    SmbError,
    VolumeError,
    ResolveError
);

fn is(condition: Condition) -> Finding {
    Some((condition, None))
}

/// The same code, found where it means something else. What does not answer, or has too many that wait for it,
/// means nothing else anywhere.
fn meaning(finding: Finding, condition: Condition) -> Finding {
    match finding {
        Some((Condition::Crowded | Condition::NotAnswering, None)) => finding,
        Some((_, code)) => Some((condition, code)),
        None => is(condition),
    }
}

impl Condition {
    pub(super) fn of_look_up(error: &NotIdentified) -> Self {
        let is_uncertain = error.uncertain().next().is_some();
        let is_guarded = error.guarded().next().is_some();
        match error.candidates().count() {
            0 | 1 if is_uncertain => Self::Uncertain,
            0 if is_guarded => Self::Guarded,
            0 => Self::NotFound,
            _ => Self::Ambiguous,
        }
    }
}

impl Classified for os::Error {
    fn finding(&self) -> Finding {
        match (&self.cause, self.win32()) {
            (os::Cause::TimedOut, _) => None,
            (os::Cause::NotAnswering, _) => is(Condition::NotAnswering),
            (os::Cause::Storage(code), _) => {
                Some((Condition::of_storage(*code), Some(Code::Returned(*code))))
            }
            (os::Cause::Hresult(code), win32) => {
                let code_or_class = win32.map_or(Code::Hresult(*code), Code::Win32);
                Some((Condition::of_hresult(*code), Some(code_or_class)))
            }
            (_, Some(code)) => Some((Condition::of_win32(code), Some(Code::Win32(code)))),
            _ => is(Condition::Other),
        }
    }
}

impl Classified for Unfinished {
    fn finding(&self) -> Finding {
        match self {
            Self::Busy { .. } | Self::Crowded { .. } => is(Condition::Crowded),
            Self::Deadline { .. } => None,
            Self::NotAnswering { .. } => is(Condition::NotAnswering),
            Self::NoThread { .. } => is(Condition::Other),
        }
    }
}

impl Classified for BlankError {
    fn finding(&self) -> Finding {
        match self {
            Self::Unread { source, .. } => source.finding(),
            _ => is(Condition::NotBlank),
        }
    }
}

impl Classified for Unread {
    fn finding(&self) -> Finding {
        match self {
            Self::Os(error) => error.finding(),
            _ => is(Condition::Other),
        }
    }
}

impl Classified for PagingUnknown {
    fn finding(&self) -> Finding {
        let finding = match self {
            Self::Os(error) => error.finding(),
            Self::Target(error) => error.finding(),
            Self::Unfinished(error) => error.finding(),
        };
        match finding {
            None | Some((Condition::NotAnswering, None) | (Condition::AccessDenied, Some(_))) => {
                finding
            }
            // A page file that is not found is not the disk that is to be changed.
            _ => meaning(finding, Condition::Other),
        }
    }
}

impl Classified for ProviderError {
    fn finding(&self) -> Finding {
        match self {
            Self::NotFound { .. } => is(Condition::NotFound),
            Self::Several { .. } => is(Condition::Ambiguous),
            Self::Unseen { .. } => is(Condition::NotReady),
            Self::Os(error) => error.finding(),
            Self::Refused { class, code, .. } => {
                let code_or_class = match *class == smb_global_mapping::CLASS.name {
                    true => Code::Win32(returned_win32(*code)),
                    false => Code::Returned(*code),
                };
                Some((Condition::of_returned(class, *code), Some(code_or_class)))
            }
        }
    }
}

impl Classified for VisibilityError {
    fn finding(&self) -> Finding {
        match self {
            Self::List { source, .. } => source.finding(),
            Self::NoSuchPartition { .. } => is(Condition::NotFound),
            Self::NotVisible { .. } => is(Condition::NotReady),
            Self::Several { .. } => is(Condition::Ambiguous),
            Self::Unfinished(error) => error.finding(),
        }
    }
}

impl Classified for DiskError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::Guarded { .. } => Condition::Guarded,
            Self::InUse { source, .. } => {
                return match source.finding() {
                    Some((_, Some(code))) => Some((Condition::InUse, Some(code))),
                    finding => finding,
                };
            }
            Self::NoSuchPage83 { .. } => Condition::NotFound,
            Self::NotIdentified(error) => Condition::of_look_up(error),
            Self::Mounted { .. } => Condition::InUse,
            Self::NotTheFound { .. } => Condition::Changed,
            Self::SeveralPage83 { .. } => Condition::Ambiguous,
            Self::StaysOffline { .. } => Condition::Offline,
            Self::OnlineWritable { .. } => Condition::OnlineWritable,
            Self::ReadOnly { .. } | Self::StaysReadOnly { .. } | Self::WriteProtected { .. } => {
                Condition::ReadOnly
            }
            Self::Untold { .. } => Condition::Uncertain,
            Self::ViewsDiffer { .. } => Condition::OutOfDate,
            Self::Blank(error) => return error.finding(),
            Self::Iscsi(error) => return error.finding(),
            Self::Kernel { source, .. } => return source.finding(),
            Self::Paging { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::Unfinished(error) => return error.finding(),
            Self::Visibility(error) => return error.finding(),
            Self::Volume(error) => return error.finding(),
            _ => Condition::Other,
        })
    }

    fn cause(self) -> Cause {
        match self {
            Self::NotIdentified(error) => Cause::NotIdentified(error),
            error => failed(error),
        }
    }
}

impl Classified for ResolveError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::Unreadable { source, .. } => {
                return meaning(source.finding(), Condition::OutOfReach);
            }
            _ => Condition::PathRefused,
        })
    }
}

impl Classified for TargetError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::Dangling { .. } => Condition::DanglingLink,
            Self::Missing { .. } => Condition::NotFound,
            Self::NotAMountedFolder { .. } | Self::PlainDirectory { .. } => {
                Condition::NotAMountedFolder
            }
            Self::Resolve(error) => return error.finding(),
            // Also when the system says "not found": that is then said of something above the path.
            Self::OutOfReach { source, .. } => {
                return meaning(source.finding(), Condition::OutOfReach);
            }
            _ => Condition::Other,
        })
    }
}

impl Classified for VolumeError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::FormatUnseen { .. } => Condition::NotReady,
            Self::InUse { .. } => Condition::InUse,
            Self::NotAMountedFolder { .. } | Self::NotMounted { .. } => {
                Condition::NotAMountedFolder
            }
            Self::NotReleased { .. } => Condition::NotBlank,
            Self::Moved { .. } | Self::NotMountedThere { .. } | Self::OnAnotherDisk { .. } => {
                Condition::Changed
            }
            Self::NotOneVolume { volumes, .. } if volumes.is_empty() => Condition::NotFound,
            Self::NotOneVolume { .. } => Condition::Ambiguous,
            Self::OtherFileSystem { .. } => Condition::OtherFileSystem,
            Self::OtherMounted { .. } | Self::TargetInUse { .. } => Condition::TargetInUse,
            Self::TooLarge { .. } => Condition::NoRoom,
            Self::Blank(error) => return error.finding(),
            Self::Disk(error) => return error.finding(),
            Self::Failed { source, .. } | Self::Mount { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::Target(error) => return error.finding(),
            Self::Unfinished(error) => return error.finding(),
            Self::Visibility(error) => return error.finding(),
            _ => Condition::Other,
        })
    }
}

impl Classified for FilesystemError {
    fn finding(&self) -> Finding {
        match self {
            Self::CreateDirectory { source, .. }
            | Self::CreateLink { source, .. }
            | Self::Inspect { source, .. }
            | Self::Remove { source, .. } => source.finding(),
            Self::NotADirectory { .. } => is(Condition::AlreadyExists),
            Self::Unfinished(error) => error.finding(),
            Self::Resolve(error) => error.finding(),
            _ => is(Condition::Other),
        }
    }
}

impl Classified for SmbError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::LinkExists { .. } | Self::LinksElsewhere { .. } => Condition::AlreadyExists,
            Self::NoSuchFolder { .. } => Condition::NotFound,
            Self::NotMapped { .. } => Condition::NotMapped,
            Self::OtherOptions { .. } => Condition::OtherOptions,
            Self::OtherUser { .. } => Condition::CredentialsConflict,
            Self::StaysMapped { .. } => Condition::NotReady,
            Self::UnknownOption { .. } => Condition::UnknownOption,
            Self::Link { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::ServerAway { source, .. } => {
                return meaning(source.finding(), Condition::ServerAway);
            }
            Self::Unfinished(error) => return error.finding(),
            _ => Condition::Other,
        })
    }
}

impl Classified for FirmwareError {
    fn finding(&self) -> Finding {
        match self {
            Self::Os { source, .. } => source.finding(),
            Self::Unfinished(error) => error.finding(),
            _ => is(Condition::Other),
        }
    }
}

impl Classified for SystemError {
    fn finding(&self) -> Finding {
        match self {
            Self::BootId { source } | Self::ComputerName { source } => source.finding(),
            Self::Unfinished(error) => error.finding(),
        }
    }
}

impl Classified for IscsiError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::AlreadyLoggedIn { .. } => Condition::AlreadyConnected,
            Self::PortalNotFound { .. } | Self::TargetNotFound { .. } => Condition::NotFound,
            Self::Initiator { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::Unfinished(error) => return error.finding(),
            _ => Condition::Other,
        })
    }
}

impl Classified for ServiceError {
    fn finding(&self) -> Finding {
        match self {
            Self::NotFound { .. } => is(Condition::NotFound),
            Self::StartTimedOut { .. } | Self::StopTimedOut { .. } => is(Condition::NotReady),
            Self::Query { source, .. } | Self::Refused { source, .. } => source.finding(),
            Self::Unfinished(error) => error.finding(),
            _ => is(Condition::Other),
        }
    }
}
