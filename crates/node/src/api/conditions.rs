//! The node's own errors as causes that a driver branches on.

use std::error::Error;

use os::SystemText;
use os::schema::smb_global_mapping;

use super::Condition::*;
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
        Some((Crowded | NotAnswering, None)) => finding,
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
            (os::Cause::NotAnswering, _) => is(NotAnswering),
            (os::Cause::Storage(code), _) => {
                Some((Condition::of_storage(*code), Some(Code::Returned(*code))))
            }
            (os::Cause::Hresult(code), win32) => {
                let code_or_class = win32.map_or(Code::Hresult(*code), Code::Win32);
                Some((Condition::of_hresult(*code), Some(code_or_class)))
            }
            (_, Some(code)) => Some((Condition::of_win32(code), Some(Code::Win32(code)))),
            _ => is(Other),
        }
    }
}

impl Classified for Unfinished {
    fn finding(&self) -> Finding {
        match self {
            Self::Busy { .. } | Self::Crowded { .. } => is(Crowded),
            Self::Deadline { .. } => None,
            Self::NotAnswering { .. } => is(NotAnswering),
            Self::NoThread { .. } => is(Other),
        }
    }
}

impl Classified for BlankError {
    fn finding(&self) -> Finding {
        match self {
            Self::Unread { source, .. } => source.finding(),
            _ => is(NotBlank),
        }
    }
}

impl Classified for Unread {
    fn finding(&self) -> Finding {
        match self {
            Self::Os(error) => error.finding(),
            _ => is(Other),
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
            None | Some((NotAnswering, None) | (AccessDenied, Some(_))) => finding,
            // A page file that is not found is not the disk that is to be changed.
            _ => meaning(finding, Other),
        }
    }
}

impl Classified for ProviderError {
    fn finding(&self) -> Finding {
        match self {
            Self::NotFound { .. } => is(NotFound),
            Self::Several { .. } => is(Ambiguous),
            Self::Unseen { .. } => is(NotReady),
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
            Self::NoSuchPartition { .. } => is(NotFound),
            Self::NotVisible { .. } => is(NotReady),
            Self::Several { .. } => is(Ambiguous),
            Self::Unfinished(error) => error.finding(),
        }
    }
}

impl Classified for DiskError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::Guarded { .. } => Guarded,
            Self::InUse { source, .. } => {
                return match source.finding() {
                    Some((_, Some(code))) => Some((InUse, Some(code))),
                    finding => finding,
                };
            }
            Self::Lost { source, .. } => return meaning(source.finding(), OutOfDate),
            Self::NoSuchPage83 { .. } => NotFound,
            Self::NotIdentified(error) => Condition::of_look_up(error),
            Self::Mounted { .. } => InUse,
            Self::NotTheFound { .. } => Changed,
            Self::RedundantPath { .. } | Self::SeveralPage83 { .. } => Ambiguous,
            Self::StaysOffline { .. } => Offline,
            Self::OnlineWritable { .. } => OnlineWritable,
            Self::ReadOnly { .. } | Self::StaysReadOnly { .. } | Self::WriteProtected { .. } => {
                ReadOnly
            }
            Self::Untold { .. } => Uncertain,
            Self::ViewsDiffer { .. } => OutOfDate,
            Self::Blank(error) => return error.finding(),
            Self::Iscsi(error) => return error.finding(),
            Self::Kernel { source, .. } => return source.finding(),
            Self::KeptOffline { source, .. } => return source.finding(),
            Self::Paging { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::Unfinished(error) => return error.finding(),
            Self::Visibility(error) => return error.finding(),
            Self::Volume(error) => return error.finding(),
            _ => Other,
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
        match self {
            Self::Unreadable { source, .. } => meaning(source.finding(), OutOfReach),
            _ => is(PathRefused),
        }
    }
}

impl Classified for TargetError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::Dangling { .. } => DanglingLink,
            Self::Missing { .. } => NotFound,
            Self::NotAMountedFolder { .. } | Self::PlainDirectory { .. } => NotAMountedFolder,
            Self::Resolve(error) => return error.finding(),
            // Also when the system says "not found": that is then said of something above the path.
            Self::OutOfReach { source, .. } => {
                return meaning(source.finding(), OutOfReach);
            }
            _ => Other,
        })
    }
}

impl Classified for VolumeError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::FormatUnseen { .. } => NotReady,
            Self::InUse { .. } => InUse,
            Self::NotAMountedFolder { .. } | Self::NotMounted { .. } => NotAMountedFolder,
            Self::NotReleased { .. } => NotBlank,
            Self::Moved { .. } | Self::NotMountedThere { .. } | Self::OnAnotherDisk { .. } => {
                Changed
            }
            Self::NotOneVolume { volumes, .. } if volumes.is_empty() => NotFound,
            Self::NotOneVolume { .. } | Self::SeveralPartitions { .. } => Ambiguous,
            Self::OtherFileSystem { .. } => OtherFileSystem,
            Self::OtherMounted { .. } | Self::TargetInUse { .. } => TargetInUse,
            Self::TooLarge { .. } => NoRoom,
            Self::Blank(error) => return error.finding(),
            Self::Disk(error) => return error.finding(),
            Self::Failed { source, .. } | Self::Mount { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::Target(error) => return error.finding(),
            Self::Unfinished(error) => return error.finding(),
            Self::Visibility(error) => return error.finding(),
            _ => Other,
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
            Self::NotADirectory { .. } => is(AlreadyExists),
            Self::Unfinished(error) => error.finding(),
            Self::Resolve(error) => error.finding(),
            _ => is(Other),
        }
    }
}

impl Classified for SmbError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::LinkExists { .. } | Self::LinksElsewhere { .. } => AlreadyExists,
            Self::NoSuchFolder { .. } => NotFound,
            Self::NotMapped { .. } => NotMapped,
            Self::OtherOptions { .. } => OtherOptions,
            Self::OtherUser { .. } => CredentialsConflict,
            Self::StaysMapped { .. } => NotReady,
            Self::UnknownOption { .. } => UnknownOption,
            Self::Link { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::ServerAway { source, .. } => {
                return meaning(source.finding(), ServerAway);
            }
            Self::Unfinished(error) => return error.finding(),
            _ => Other,
        })
    }
}

impl Classified for FirmwareError {
    fn finding(&self) -> Finding {
        match self {
            Self::Os { source, .. } => source.finding(),
            Self::Unfinished(error) => error.finding(),
            _ => is(Other),
        }
    }
}

impl Classified for SystemError {
    fn finding(&self) -> Finding {
        match self {
            Self::BootId { source }
            | Self::CommandLines { source }
            | Self::ComputerName { source } => source.finding(),
            Self::Unfinished(error) => error.finding(),
        }
    }
}

impl Classified for IscsiError {
    fn finding(&self) -> Finding {
        is(match self {
            Self::AlreadyLoggedIn { .. } => AlreadyConnected,
            Self::DiskOnline { .. } => InUse,
            Self::PortalNotFound { .. } | Self::TargetNotFound { .. } => NotFound,
            Self::DiskUnread { source, .. } => return source.finding(),
            Self::Initiator { source, .. } => return source.finding(),
            Self::Provider(error) => return error.finding(),
            Self::Unfinished(error) => return error.finding(),
            _ => Other,
        })
    }
}

impl Classified for ServiceError {
    fn finding(&self) -> Finding {
        match self {
            Self::NotFound { .. } => is(NotFound),
            Self::StartTimedOut { .. } | Self::StopTimedOut { .. } => is(NotReady),
            Self::Query { source, .. } | Self::Refused { source, .. } => source.finding(),
            Self::Unfinished(error) => error.finding(),
            _ => is(Other),
        }
    }
}
