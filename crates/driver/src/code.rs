//! Which gRPC code a failure has.
//!
//! After a final code kubelet may forget the volume and never call NodeUnstageVolume for it (measured with kubelet
//! 1.36.3). So a failed call has a final code only if it left nothing behind; otherwise the code is `Unavailable`
//! or `DeadlineExceeded`, and kubelet calls again.

use transport::Code;
use wincsi::{Cause, Condition, Error};

/// Whether a failed call left something of the volume on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// No record, no mounted folder, and the disk is online or offline as it was. An offline disk may be read-only
    /// after a failed stage for readers. Windows leaves new disks offline and read-only itself, by its SAN policy
    /// (<https://learn.microsoft.com/windows-server/administration/windows-commands/san>), and each stage sets what it needs.
    None,
    Maybe,
}

/// The code of a failure of the node. Of a volume that is staged, or may be, each is `Unavailable` or `DeadlineExceeded`:
/// so a late disk ends no expansion.
pub fn of(error: &Error, left: Leftovers) -> Code {
    let code = match (&error.cause, error.condition()) {
        (Cause::Deadline, _) => Code::DeadlineExceeded,
        (_, Some(condition)) => of_condition(condition),
        (Cause::InvalidArgument(_), _) => Code::InvalidArgument,
        (Cause::Refused { .. }, _) => Code::PermissionDenied,
        (Cause::Unsupported { .. } | Cause::Unimplemented { .. }, _) => Code::FailedPrecondition,
        (Cause::Malformed(_), _) => Code::Internal,
        _ => Code::Unavailable,
    };
    match left {
        Leftovers::Maybe if is_final(code) => Code::Unavailable,
        _ => code,
    }
}

/// Whether kubelet takes the call for over (`isFinalError` of its CSI plugin).
pub fn is_final(code: Code) -> bool {
    !matches!(
        code,
        Code::Aborted
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Unavailable
    )
}

/// The table: what a condition means where nothing is left behind.
const TABLE: &[(&[Condition], Code)] = {
    use Condition as C;
    &[
        // The same call may come through later.
        (
            &[
                C::Changed,
                C::Crowded,
                C::DanglingLink,
                C::DeviceFailed,
                C::InUse,
                C::NotAnswering,
                C::NotReady,
                C::Offline,
                C::OutOfDate,
                C::OutOfReach,
                C::ServerAway,
                C::ServerNotFound,
                C::ServiceStopped,
                C::Uncertain,
            ],
            Code::Unavailable,
        ),
        // The disk, the path or the server is not there.
        (&[C::NotFound], Code::NotFound),
        // Nothing is mounted at the path.
        (
            &[C::NotAMountedFolder, C::NotMapped],
            Code::FailedPrecondition,
        ),
        // A person has to change something: the data, the capability, the storage.
        (
            &[
                C::Ambiguous,
                C::CredentialsConflict,
                C::Guarded,
                C::NoRoom,
                C::NotBlank,
                C::NotEmpty,
                C::OnlineWritable,
                C::OtherFileSystem,
                C::OtherOptions,
                C::ReadOnly,
                C::TargetInUse,
                C::UnknownOption,
            ],
            Code::FailedPrecondition,
        ),
        // The driver may not.
        (&[C::AccessDenied], Code::PermissionDenied),
        // The credentials are wrong.
        (&[C::LogonFailure], Code::Unauthenticated),
        // csi-proxy refuses the path.
        (&[C::PathRefused], Code::InvalidArgument),
        (
            &[C::AlreadyConnected, C::AlreadyExists, C::Other],
            Code::Internal,
        ),
    ]
};

/// A condition that the table does not have is of a newer library: nothing is known of it.
fn of_condition(condition: Condition) -> Code {
    let mut rows = TABLE.iter();
    let row = rows.find(|(conditions, _)| conditions.contains(&condition));
    row.map_or(Code::Internal, |(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(condition: Condition) -> Error {
        let cause = Cause::Failed {
            condition,
            text: String::new(),
            code: None,
            system_text: None,
        };
        Error::new("test", "", cause)
    }

    #[test]
    fn each_condition_is_in_the_table_once() {
        for condition in Condition::ALL {
            let rows = TABLE.iter();
            let having = rows.filter(|(conditions, _)| conditions.contains(condition));
            assert_eq!(having.count(), 1, "{condition}");
        }
    }

    #[test]
    fn a_call_that_left_something_behind_has_no_final_code() {
        for condition in Condition::ALL {
            let code = of(&error(*condition), Leftovers::Maybe);
            assert!(!is_final(code), "{condition}: {code:?}");
        }
    }

    #[test]
    fn what_may_come_right_by_itself_is_unavailable() {
        let transient = Condition::ALL.iter().filter(|one| one.is_transient());
        for condition in transient {
            let code = of(&error(*condition), Leftovers::None);
            assert_eq!(code, Code::Unavailable, "{condition}");
        }
    }
}
