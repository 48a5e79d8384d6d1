//! Which gRPC code a failure has.
//!
//! After a final code csi-provisioner forgets a claim that was deleted meanwhile, and nobody calls DeleteVolume: what is on
//! the share then stays. So a create has a final code only if this process left nothing of the volume there.

use program::hidden;
use transport::{Code, Status};

use crate::requests::RequestError;
use crate::volumes::{Class, Error, Leftover};

/// The answer to a request that is refused, or cannot be carried out.
impl From<RequestError> for Status {
    fn from(error: RequestError) -> Self {
        Self::new(Code::InvalidArgument, hidden::shown(&error.to_string()))
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let code = match error.class() {
            Class::Busy => Code::Aborted,
            Class::Exists => Code::AlreadyExists,
            Class::Invalid => Code::InvalidArgument,
            Class::Blocked => Code::FailedPrecondition,
            Class::LogonRefused => Code::Unauthenticated,
            Class::Denied => Code::PermissionDenied,
            Class::Full => Code::ResourceExhausted,
            Class::TimedOut => Code::DeadlineExceeded,
            Class::Unavailable => Code::Unavailable,
            Class::Other => Code::Internal,
        };
        Self::new(code, hidden::shown(&error.to_string()))
    }
}

/// The answer to a create that failed. `AlreadyExists` is final also with something left: it is the other volume's.
pub(crate) fn of_create(failed: Status, leftover: Leftover) -> Status {
    let stays = is_final(failed.code) && failed.code != Code::AlreadyExists;
    match leftover {
        Leftover::Possible if stays => Status {
            code: Code::Unavailable,
            ..failed
        },
        _ => failed,
    }
}

/// Whether csi-provisioner takes the call for over (`checkError`).
fn is_final(code: Code) -> bool {
    !matches!(
        code,
        Code::Aborted | Code::Cancelled | Code::DeadlineExceeded | Code::Unavailable
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use smb::Failure;
    use smb::Operation::{Create, Lock, LogOn, MakeFolder, OpenShare, Remove, Rename, Stat};

    use super::*;

    #[test]
    fn each_failure_of_a_share_has_its_code() {
        let lost = || Failure::Lost(String::new());
        // IO_TIMEOUT, MEDIA_WRITE_PROTECTED
        let (slow, read_only) = (0xC000_00B5, 0xC000_00A2);
        for (operation, failure, code) in [
            (MakeFolder, Failure::Denied, Code::PermissionDenied),
            (Create, Failure::Full, Code::ResourceExhausted),
            (Create, lost(), Code::Unavailable),
            (Create, Failure::Status(slow), Code::Unavailable),
            (Create, Failure::Status(read_only), Code::PermissionDenied),
            (LogOn, Failure::Anonymous, Code::Unauthenticated),
            (LogOn, Failure::NoEncryption, Code::Unavailable),
            (OpenShare, Failure::NotADisk, Code::InvalidArgument),
            (Lock, Failure::InUse, Code::Aborted),
            (Rename, Failure::InUse, Code::FailedPrecondition),
            (Remove, Failure::HiddenContent, Code::FailedPrecondition),
            (Stat, Failure::TimedOut, Code::DeadlineExceeded),
            (Stat, Failure::Status(1), Code::Internal),
        ] {
            let text = format!("{operation} {failure}");
            let object = String::from("x");
            let error = smb::Error {
                operation,
                object,
                failure,
            };
            let status = Status::from(Error::Share(error));
            assert_eq!(status.code, code, "{text}");
            for (leftover, final_code) in [(Leftover::Nothing, true), (Leftover::Possible, false)] {
                let answered = of_create(status.clone(), leftover);
                assert_eq!(answered.message, status.message);
                let is_same = final_code || !is_final(code);
                let expected = if is_same { code } else { Code::Unavailable };
                assert_eq!(answered.code, expected, "{text}");
            }
        }
    }
}
