//! Which gRPC code a failure has.
//!
//! After a final code csi-provisioner forgets a claim that was deleted meanwhile, and nobody calls DeleteVolume: what is on
//! the share then stays. So a create has a final code only if this process left nothing of the volume there.

use program::hidden;
use transport::{Code, Status};

use crate::requests::RequestError;
use crate::volumes::Error;

impl From<RequestError> for Status {
    fn from(error: RequestError) -> Self {
        Self::new(Code::InvalidArgument, hidden::shown(&error.to_string()))
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::new(error.code(), hidden::shown(&error.to_string()))
    }
}

/// The answer to a create that failed, and may have left something. What exists already is the other volume's.
pub(crate) fn with_leftover(failed: Status) -> Status {
    let code = match failed.code {
        // After these csi-provisioner takes the call for unfinished (`checkError`).
        Code::Aborted | Code::Cancelled | Code::DeadlineExceeded | Code::AlreadyExists => {
            failed.code
        }
        _ => Code::Unavailable,
    };
    Status { code, ..failed }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use smb::Failure;
    use smb::Operation::{Create, Lock, LogOn, MakeFolder, OpenShare, Remove, Rename, Stat};

    use super::*;

    #[test]
    fn each_failure_of_a_share_has_its_code() {
        // IO_TIMEOUT, MEDIA_WRITE_PROTECTED
        let (slow, read_only) = (0xC000_00B5, 0xC000_00A2);
        for (operation, failure, code) in [
            (MakeFolder, Failure::Denied, Code::PermissionDenied),
            (Create, Failure::Full, Code::ResourceExhausted),
            (Create, Failure::Lost(String::new()), Code::Unavailable),
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
            let answered = with_leftover(status.clone());
            assert_eq!(answered.message, status.message);
            let is_same = [Code::Aborted, Code::DeadlineExceeded].contains(&code);
            let expected = if is_same { code } else { Code::Unavailable };
            assert_eq!(answered.code, expected, "{text}");
        }
    }
}
