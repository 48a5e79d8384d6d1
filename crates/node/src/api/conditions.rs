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

/// Errors come here through `Into<Cause>`: with the condition of their variant and their own text.
macro_rules! causes {
    ($($error:ty),+) => {
        $(impl From<$error> for Cause {
            fn from(error: $error) -> Self {
                cause(error.kind(), &error)
            }
        })+
    };
}

/// The condition of each error.
macro_rules! conditions {
    ($($error:ty),+) => {
        $(impl $error {
            /// The node's finding; `None` if the operation did not end before its deadline.
            #[must_use]
            pub fn condition(&self) -> Option<Condition> {
                match self.kind() {
                    Kind::Coded(condition, _) | Kind::Condition(condition) => Some(condition),
                    Kind::Deadline => None,
                }
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

causes!(
    FilesystemError,
    FirmwareError,
    IscsiError,
    ServiceError,
    SmbError,
    SystemError,
    VolumeError
);

impl From<DiskError> for Cause {
    fn from(error: DiskError) -> Self {
        match error {
            DiskError::NotIdentified(error) => Self::NotIdentified(error),
            error => cause(error.kind(), &error),
        }
    }
}

fn cause(kind: Kind, error: &(dyn Error + 'static)) -> Cause {
    match kind {
        Kind::Coded(condition, code) => failed(error, condition, Some(code)),
        Kind::Condition(condition) => failed(error, condition, None),
        Kind::Deadline => Cause::Deadline,
    }
}

fn failed(error: &(dyn Error + 'static), condition: Condition, code: Option<Code>) -> Cause {
    Cause::Failed {
        condition,
        text: error.to_string(),
        code,
        system_text: SystemText::of(error).cloned(),
    }
}

enum Kind {
    /// With the code from which the condition is.
    Coded(Condition, Code),
    Condition(Condition),
    Deadline,
}

impl Kind {
    /// The same code, found where it means something else. What does not answer, or has too many that wait for it,
    /// means nothing else anywhere.
    fn meaning(self, condition: Condition) -> Self {
        match self {
            Self::Condition(Condition::Crowded | Condition::NotAnswering) => self,
            Self::Coded(_, code) => Self::Coded(condition, code),
            Self::Condition(_) | Self::Deadline => Self::Condition(condition),
        }
    }
}

trait Classified {
    fn kind(&self) -> Kind;
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
    fn kind(&self) -> Kind {
        match (&self.cause, self.win32()) {
            (os::Cause::TimedOut, _) => Kind::Deadline,
            (os::Cause::NotAnswering, _) => Kind::Condition(Condition::NotAnswering),
            (os::Cause::Storage(code), _) => {
                Kind::Coded(Condition::of_storage(*code), Code::Returned(*code))
            }
            (os::Cause::Hresult(code), win32) => {
                let code_or_class = win32.map_or(Code::Hresult(*code), Code::Win32);
                Kind::Coded(Condition::of_hresult(*code), code_or_class)
            }
            (_, Some(code)) => Kind::Coded(Condition::of_win32(code), Code::Win32(code)),
            _ => Kind::Condition(Condition::Other),
        }
    }
}

impl Classified for Unfinished {
    fn kind(&self) -> Kind {
        match self {
            Self::Busy { .. } | Self::Crowded { .. } => Kind::Condition(Condition::Crowded),
            Self::Deadline { .. } => Kind::Deadline,
            Self::NotAnswering { .. } => Kind::Condition(Condition::NotAnswering),
            Self::NoThread { .. } => Kind::Condition(Condition::Other),
        }
    }
}

impl Classified for BlankError {
    fn kind(&self) -> Kind {
        match self {
            Self::Unread { source, .. } => source.kind(),
            _ => Kind::Condition(Condition::NotBlank),
        }
    }
}

impl Classified for Unread {
    fn kind(&self) -> Kind {
        match self {
            Self::Os(error) => error.kind(),
            _ => Kind::Condition(Condition::Other),
        }
    }
}

impl Classified for PagingUnknown {
    fn kind(&self) -> Kind {
        let kind = match self {
            Self::Os(error) => error.kind(),
            Self::Target(error) => error.kind(),
            Self::Unfinished(error) => error.kind(),
        };
        match kind {
            Kind::Deadline
            | Kind::Condition(Condition::NotAnswering)
            | Kind::Coded(Condition::AccessDenied, _) => kind,
            // A page file that is not found is not the disk that is to be changed.
            _ => kind.meaning(Condition::Other),
        }
    }
}

impl Classified for ProviderError {
    fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } => Kind::Condition(Condition::NotFound),
            Self::Several { .. } => Kind::Condition(Condition::Ambiguous),
            Self::Unseen { .. } => Kind::Condition(Condition::NotReady),
            Self::Os(error) => error.kind(),
            Self::Refused { class, code, .. } => {
                let code_or_class = match *class == smb_global_mapping::CLASS.name {
                    true => Code::Win32(returned_win32(*code)),
                    false => Code::Returned(*code),
                };
                Kind::Coded(Condition::of_returned(class, *code), code_or_class)
            }
        }
    }
}

impl Classified for VisibilityError {
    fn kind(&self) -> Kind {
        match self {
            Self::List { source, .. } => source.kind(),
            Self::NoSuchPartition { .. } => Kind::Condition(Condition::NotFound),
            Self::NotVisible { .. } => Kind::Condition(Condition::NotReady),
            Self::Several { .. } => Kind::Condition(Condition::Ambiguous),
            Self::Unfinished(error) => error.kind(),
        }
    }
}

impl Classified for DiskError {
    fn kind(&self) -> Kind {
        Kind::Condition(match self {
            Self::Guarded { .. } => Condition::Guarded,
            Self::InUse { source, .. } => {
                return match source.kind() {
                    Kind::Coded(_, code) => Kind::Coded(Condition::InUse, code),
                    kind => kind,
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
            Self::Blank(error) => return error.kind(),
            Self::Iscsi(error) => return error.kind(),
            Self::Kernel { source, .. } => return source.kind(),
            Self::Paging { source, .. } => return source.kind(),
            Self::Provider(error) => return error.kind(),
            Self::Unfinished(error) => return error.kind(),
            Self::Visibility(error) => return error.kind(),
            Self::Volume(error) => return error.kind(),
            _ => Condition::Other,
        })
    }
}

impl Classified for ResolveError {
    fn kind(&self) -> Kind {
        Kind::Condition(match self {
            Self::Unreadable { source, .. } => return source.kind().meaning(Condition::OutOfReach),
            _ => Condition::PathRefused,
        })
    }
}

impl Classified for TargetError {
    fn kind(&self) -> Kind {
        Kind::Condition(match self {
            Self::Dangling { .. } => Condition::DanglingLink,
            Self::Missing { .. } => Condition::NotFound,
            Self::NotAMountedFolder { .. } | Self::PlainDirectory { .. } => {
                Condition::NotAMountedFolder
            }
            Self::Resolve(error) => return error.kind(),
            // Also when the system says "not found": that is then said of something above the path.
            Self::OutOfReach { source, .. } => return source.kind().meaning(Condition::OutOfReach),
            _ => Condition::Other,
        })
    }
}

impl Classified for VolumeError {
    fn kind(&self) -> Kind {
        Kind::Condition(match self {
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
            Self::Blank(error) => return error.kind(),
            Self::Disk(error) => return error.kind(),
            Self::Failed { source, .. } | Self::Mount { source, .. } => return source.kind(),
            Self::Provider(error) => return error.kind(),
            Self::Target(error) => return error.kind(),
            Self::Unfinished(error) => return error.kind(),
            Self::Visibility(error) => return error.kind(),
            _ => Condition::Other,
        })
    }
}

impl Classified for FilesystemError {
    fn kind(&self) -> Kind {
        match self {
            Self::CreateDirectory { source, .. }
            | Self::CreateLink { source, .. }
            | Self::Inspect { source, .. }
            | Self::Remove { source, .. } => source.kind(),
            Self::NotADirectory { .. } => Kind::Condition(Condition::AlreadyExists),
            Self::Unfinished(error) => error.kind(),
            Self::Resolve(error) => error.kind(),
            _ => Kind::Condition(Condition::Other),
        }
    }
}

impl Classified for SmbError {
    fn kind(&self) -> Kind {
        Kind::Condition(match self {
            Self::LinkExists { .. } | Self::LinksElsewhere { .. } => Condition::AlreadyExists,
            Self::NoSuchFolder { .. } => Condition::NotFound,
            Self::NotMapped { .. } => Condition::NotMapped,
            Self::OtherOptions { .. } => Condition::OtherOptions,
            Self::OtherUser { .. } => Condition::CredentialsConflict,
            Self::StaysMapped { .. } => Condition::NotReady,
            Self::UnknownOption { .. } => Condition::UnknownOption,
            Self::Link { source, .. } => return source.kind(),
            Self::Provider(error) => return error.kind(),
            Self::ServerAway { source, .. } => return source.kind().meaning(Condition::ServerAway),
            Self::Unfinished(error) => return error.kind(),
            _ => Condition::Other,
        })
    }
}

impl Classified for FirmwareError {
    fn kind(&self) -> Kind {
        match self {
            Self::Os { source, .. } => source.kind(),
            Self::Unfinished(error) => error.kind(),
            _ => Kind::Condition(Condition::Other),
        }
    }
}

impl Classified for SystemError {
    fn kind(&self) -> Kind {
        match self {
            Self::BootId { source } | Self::ComputerName { source } => source.kind(),
            Self::Unfinished(error) => error.kind(),
        }
    }
}

impl Classified for IscsiError {
    fn kind(&self) -> Kind {
        Kind::Condition(match self {
            Self::AlreadyLoggedIn { .. } => Condition::AlreadyConnected,
            Self::PortalNotFound { .. } | Self::TargetNotFound { .. } => Condition::NotFound,
            Self::Initiator { source, .. } => return source.kind(),
            Self::Provider(error) => return error.kind(),
            Self::Unfinished(error) => return error.kind(),
            _ => Condition::Other,
        })
    }
}

impl Classified for ServiceError {
    fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } => Kind::Condition(Condition::NotFound),
            Self::StartTimedOut { .. } | Self::StopTimedOut { .. } => {
                Kind::Condition(Condition::NotReady)
            }
            Self::Query { source, .. } | Self::Refused { source, .. } => source.kind(),
            Self::Unfinished(error) => error.kind(),
            _ => Kind::Condition(Condition::Other),
        }
    }
}
